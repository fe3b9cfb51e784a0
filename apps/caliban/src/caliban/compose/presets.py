"""Providers that only need to be named: where they are, what they speak, and which variable holds the key.

A table in settings, `[provider.NAME]` without a `kind`, changes a row; with a `kind` it stands for itself.
What hosts and families of models take otherwise is in the adapters, which know them by address and by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

AS_OF: Final = "2026-11-28"
"""The day on which the table was true."""


class Preset(Struct, frozen=True, kw_only=True):
    """One row. `kind` is the adapter; the first of `key_env` that is set holds the key, and none wants none.

    A name in braces in `base_url` is a variable of the environment that belongs there. `quirks` are as in the
    option of that name. Without a `default_model` one has to be named. `owner_in_id` says that ids of models
    hold slashes of their own.
    """

    kind: str
    base_url: str
    key_env: tuple[str, ...] = ()
    quirks: str = ""
    default_model: str = ""
    owner_in_id: bool = False


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "cerebras": Preset(
            kind="openai",
            base_url="https://api.cerebras.ai/v1",
            key_env=("CEREBRAS_API_KEY",),
        ),
        "cloudflare": Preset(
            kind="openai",
            base_url="https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
            key_env=("CLOUDFLARE_API_KEY",),
            owner_in_id=True,
        ),
        "databricks": Preset(
            kind="openai",
            base_url="https://{DATABRICKS_HOST}/serving-endpoints",
            key_env=("DATABRICKS_TOKEN",),
        ),
        "deepseek": Preset(
            kind="openai",
            base_url="https://api.deepseek.com/v1",
            key_env=("DEEPSEEK_API_KEY",),
            default_model="deepseek-chat",
        ),
        "fireworks": Preset(
            kind="openai",
            base_url="https://api.fireworks.ai/inference/v1",
            key_env=("FIREWORKS_API_KEY",),
            owner_in_id=True,
        ),
        "github-models": Preset(
            kind="openai",
            base_url="https://models.github.ai/inference",
            key_env=(
                "GITHUB_TOKEN",
                "GITHUB_API_KEY",
            ),
            owner_in_id=True,
        ),
        "groq": Preset(
            kind="openai",
            base_url="https://api.groq.com/openai/v1",
            key_env=("GROQ_API_KEY",),
            owner_in_id=True,
        ),
        "huggingface": Preset(
            kind="openai",
            base_url="https://router.huggingface.co/v1",
            key_env=("HF_TOKEN",),
            owner_in_id=True,
        ),
        "kimi-coding": Preset(
            kind="anthropic",
            base_url="https://api.kimi.com/coding",
            key_env=("KIMI_API_KEY",),
        ),
        "litellm": Preset(
            kind="openai",
            base_url="http://localhost:4000",
            key_env=("LITELLM_API_KEY",),
            owner_in_id=True,
            quirks="id_chars=4000,id_extra=+/=",
        ),
        "llama.cpp": Preset(
            kind="openai",
            base_url="http://localhost:8080/v1",
            owner_in_id=True,
        ),
        "llamafile": Preset(
            kind="openai",
            base_url="http://127.0.0.1:8080/v1",
            owner_in_id=True,
        ),
        "lm-studio": Preset(
            kind="openai",
            base_url="http://localhost:1234/v1",
            owner_in_id=True,
        ),
        "minimax": Preset(
            kind="anthropic",
            base_url="https://api.minimax.io/anthropic",
            key_env=("MINIMAX_API_KEY",),
        ),
        "mistral": Preset(
            kind="openai",
            base_url="https://api.mistral.ai/v1",
            key_env=("MISTRAL_API_KEY",),
        ),
        "moonshot": Preset(
            kind="openai",
            base_url="https://api.moonshot.ai/v1",
            key_env=("MOONSHOT_API_KEY",),
        ),
        "nvidia": Preset(
            kind="openai",
            base_url="https://integrate.api.nvidia.com/v1",
            key_env=(
                "NVIDIA_API_KEY",
                "NVIDIA_NIM_API_KEY",
            ),
            owner_in_id=True,
        ),
        "ollama-cloud": Preset(
            kind="ollama",
            base_url="https://ollama.com",
            key_env=("OLLAMA_API_KEY",),
        ),
        "openrouter": Preset(
            kind="openai",
            base_url="https://openrouter.ai/api/v1",
            key_env=("OPENROUTER_API_KEY",),
            owner_in_id=True,
        ),
        "perplexity": Preset(
            kind="openai",
            base_url="https://api.perplexity.ai",
            key_env=("PERPLEXITY_API_KEY",),
            default_model="sonar-pro",
        ),
        "qwen": Preset(
            kind="openai",
            base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            key_env=("DASHSCOPE_API_KEY",),
        ),
        "snowflake": Preset(
            kind="openai",
            base_url="https://{SNOWFLAKE_ACCOUNT}.snowflakecomputing.com/api/v2/cortex/v1",
            key_env=("SNOWFLAKE_TOKEN",),
        ),
        "together": Preset(
            kind="openai",
            base_url="https://api.together.ai/v1",
            key_env=(
                "TOGETHER_API_KEY",
                "TOGETHERAI_API_KEY",
            ),
            owner_in_id=True,
        ),
        "vercel-ai-gateway": Preset(
            kind="anthropic",
            base_url="https://ai-gateway.vercel.sh",
            key_env=("AI_GATEWAY_API_KEY",),
            owner_in_id=True,
        ),
        "vllm": Preset(
            kind="openai",
            base_url="http://localhost:8000/v1",
            owner_in_id=True,
        ),
        "xai": Preset(
            kind="openai",
            base_url="https://api.x.ai/v1",
            key_env=("XAI_API_KEY",),
        ),
        "xiaomi": Preset(
            kind="anthropic",
            base_url="https://api.xiaomimimo.com/anthropic",
            key_env=("XIAOMI_API_KEY",),
        ),
        "zai": Preset(
            kind="openai",
            base_url="https://api.z.ai/api/paas/v4",
            key_env=(
                "ZAI_API_KEY",
                "ZHIPUAI_API_KEY",
            ),
        ),
        "zai-coding": Preset(
            kind="openai",
            base_url="https://api.z.ai/api/coding/paas/v4",
            key_env=(
                "ZAI_API_KEY",
                "ZHIPUAI_API_KEY",
            ),
        ),
    }
)
"""By the name that `--provider` takes."""

OTHER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "alibaba": "qwen",
        "amazon": "bedrock",
        "aws": "bedrock",
        "bigmodel": "zai",
        "chatgpt": "openai",
        "claude": "anthropic",
        "dashscope": "qwen",
        "gcp": "vertex",
        "gemini": "google",
        "github": "github-models",
        "glm": "zai",
        "gpt": "openai",
        "grok": "xai",
        "hf": "huggingface",
        "kimi": "moonshot",
        "mimo": "xiaomi",
        "nim": "nvidia",
        "sonar": "perplexity",
        "zhipu": "zai",
        "zhipuai": "zai",
    }
)
"""What people call a provider by -> its name here."""

WITHOUT_KEYS: Final = ("copilot", "github-copilot", "sagemaker", "watsonx")
"""Services that take no key but a token that is exchanged or a signature of their own: none is asked here."""
