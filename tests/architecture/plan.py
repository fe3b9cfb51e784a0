"""The plan of the house as data: floors, doors, walls, and the exceptions to the rules, each with its reason.

A row is added here in the same change as the code it speaks of, or removed with it: the tests fail on a row
that nothing needs any more.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMON = "caliban_common"
PROCESS = "caliban_process"
PROVIDER = "caliban_provider"
ANTHROPIC = "caliban_provider_anthropic"

FLOORS: Mapping[str, int] = {
    COMMON: 0,
    PROCESS: 0,
    PROVIDER: 1,
    "caliban_settings": 1,
    "caliban_permissions": 1,
    "caliban_hooks": 1,
    "caliban_sandbox": 1,
    "caliban_sessions": 1,
    "caliban_worktrees": 1,
    "caliban_memory": 1,
    "caliban_skills": 1,
    "caliban_plugins": 1,
    "caliban_mcp_client": 1,
    "caliban_images": 1,
    "caliban_output_styles": 1,
    "caliban_telemetry": 1,
    "caliban_trust": 1,
    "caliban_agent_core": 2,
    "caliban_model_router": 2,
    ANTHROPIC: 2,
    "caliban_provider_openai": 2,
    "caliban_provider_google": 2,
    "caliban_provider_ollama": 2,
    "caliban_provider_local": 2,
    "caliban_provider_bedrock": 2,
    "caliban_provider_vertex": 2,
    "caliban_tools_builtin": 2,
    "caliban_checkpoint": 2,
    "caliban_supervisor": 2,
    "caliban_mcp": 2,
    "caliban_drive": 3,
    "caliban_replay": 3,
    "caliban_commands": 3,
    "caliban_headless": 4,
    "caliban_tui": 4,
    "caliban_serve": 4,
    "caliban": 5,
}
"""The floor of every package, of those to come too. Imports go down only."""

NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    PROCESS: (COMMON,),
    "caliban_agent_core": (COMMON, PROVIDER),
    "caliban_model_router": (COMMON, PROVIDER),
    ANTHROPIC: (COMMON, PROVIDER),
    "caliban_provider_openai": (COMMON, PROVIDER),
    "caliban_provider_google": (COMMON, PROVIDER),
    "caliban_provider_ollama": (COMMON, PROVIDER),
    "caliban_provider_local": (COMMON, PROVIDER),
    "caliban_provider_bedrock": (COMMON, PROVIDER, ANTHROPIC),
    "caliban_provider_vertex": (COMMON, PROVIDER, ANTHROPIC),
    "caliban_tools_builtin": (COMMON, PROCESS, "caliban_images", "caliban_sandbox"),
    "caliban_checkpoint": (COMMON, PROCESS),
    "caliban_supervisor": (COMMON, PROCESS, "caliban_worktrees"),
    "caliban_mcp": (COMMON, PROCESS, "caliban_mcp_client"),
    "caliban_commands": (COMMON, "caliban_drive"),
    "caliban_replay": (COMMON, PROVIDER, "caliban_agent_core"),
}
"""What a package may import where its floor alone says too much or too little. Floor 1: floor 0."""

APP_ONLY = ("caliban_settings",)
"""Packages that only the app may import: everyone else takes frozen options, never settings."""

HTTP_DOOR = "caliban_provider.httpx_client"
"""The only module that imports an HTTP library."""

HTTP_LIBRARIES = ("httpx", "httpx2", "requests", "aiohttp", "urllib3", "http.client", "urllib.request")

EVENT_LOOPS: Mapping[str, str] = {
    "caliban_provider.testing.loopback": "a test server that shares no event loop with the client under test",
    "caliban_mcp_client.testing.web": "a test server that shares no event loop with the client under test",
    "caliban_provider.testing.exchange": "its scripts wait for events that a test sets from another thread",
    "caliban_mcp_client.testing.oauth": "answers in the threads of whoever serves it",
    "caliban_sessions.testing.conformance": "stores are plain calls, here from threads at once",
    "caliban_agent_core.background": "a run belongs to no frame, which a task group would have to be left in",
    "caliban_provider_local.worker": "the native runtime blocks: one thread of its own, told when to stop",
}
"""Modules that may import `asyncio` or `threading`. Everyone else uses anyio."""

PROGRAM_RUNNERS: Mapping[str, str] = {
    "caliban.compose.servers.browser": "a browser belongs to its person, and stays when we go",
    "caliban_sandbox.egress.launch": "forks the bridge inside of a sandbox, where nothing else of ours is",
    "caliban_mcp_client.testing.rude.server": "a server of its own, which leaves children behind on purpose",
    "caliban_provider_local.testing.server": "a server for tests, which shares nothing with them",
}
"""Modules outside of `caliban_process` that start programs by themselves -> why."""

HEAVY = (
    "asyncio",
    "html_to_markdown",
    "httpx",
    "PIL",
    "importlib.metadata",
    "jsonschema_rs",
    "logging.config",
    "pathspec",
    "prompt_toolkit",
    "pydantic",
    "pypdf",
    "structlog",
    "trio",
    "wcmatch",
    "xllamacpp",
)
"""What costs milliseconds: importing a module of ours loads none, unless `HEAVY_AT_IMPORT` says so."""

HEAVY_AT_IMPORT: Mapping[str, tuple[str, ...]] = {
    "caliban_tui.keys.draftbuffer": ("asyncio", "prompt_toolkit"),
    "caliban_tui.keys.vim": ("asyncio", "prompt_toolkit"),
    "caliban_tui.keys.vimchange": ("asyncio", "prompt_toolkit"),
    "caliban_tui.keys.vimkeys": ("asyncio", "prompt_toolkit"),
    "caliban_tui.keys.vimlines": ("asyncio", "prompt_toolkit"),
    "caliban_tui.keys.vimobjects": ("asyncio", "prompt_toolkit"),
    "caliban_tui.keys.vimstate": ("asyncio", "prompt_toolkit"),
    "caliban_tui.keys.source": ("asyncio", "prompt_toolkit"),
    "caliban_tui.live": ("asyncio", "prompt_toolkit"),
}
"""Module -> the heavy libraries that importing it may load."""

LAZY_DOORS: Mapping[str, str] = {
    "caliban_permissions.readonly.judge": "ignore files are read where a search would find something",
    "caliban.__main__": "imports are made quick before there are any",
    "caliban.import_cache": "what serves a module or writes the file is loaded for that",
    "caliban.entry": "looks at the arguments before it imports anything more",
    "caliban.about": "the version is told without the flags",
    "caliban.cli.help": "errors need more than help does",
    "caliban.cli.parser": "argparse is loaded for what it alone may say",
    "caliban.stdio": "the version is told to a pipe without what a terminal needs",
    "caliban.main": "only the subcommand or face that was asked for is loaded",
    "caliban.commands.perms.verdict": "files of calls are read where one is named",
    "caliban.compose.audit": "the log of decisions is loaded with the first of them",
    "caliban.compose.checkpoints": "what keeps files is loaded with the first call that changes some",
    "caliban.compose.agents": "files of agents are read where there are some",
    "caliban.compose.keyprogram": "what looks like a key is looked for in the words of a program that failed",
    "caliban.compose.boxing": "a sandbox is built where somebody wants one",
    "caliban.compose.spending": "providers are looked up where settings describe one of a session",
    "caliban_settings.source": "access lists are read on Windows alone",
    "caliban.compose.costs": "prices are loaded once the first reply has come",
    "caliban.cli.lookalike": "a word that is no command is compared with them only then",
    "caliban.commands.rewind.back": "a summary needs a model, and going back does not",
    "caliban.commands.doctor.readiness": "routes are read where there may be some only",
    "caliban.compose.toolnames": "tools are listed where somebody wrote a rule",
    "caliban.faces.encoders": "only the encoder of the format that was asked for is loaded",
    "caliban.faces.otherend": "what serves the program on the other end is loaded with its first request",
    "caliban.faces.terminal.draft": "servers are asked to complete where one may",
    "caliban.slash.serverprompts": "the same",
    "caliban.faces.headless": "schemas and recordings are loaded where a flag asks for them",
    "caliban.compose.app": "what holds tools back, where there are any to be held back",
    "caliban.compose.parts": "what a model takes of images, where there are any",
    "caliban.commands.doctor.extensions": "styles are looked at where one was chosen",
    "caliban.compose.servers.handler": "how questions are answered, with the first of them",
    "caliban_mcp.fleet": "the tools that wait and read, where a server is slow or has something to be read",
    "caliban_mcp.tool": "how results are read, with the first of them",
    "caliban.compose.hooking.chosen": "plugins are loaded where there are some",
    "caliban.compose.plugins.run": "the same",
    "caliban.compose.slash": "the same",
    "caliban.slash.context": "saved sessions are looked at where one goes on",
    "caliban.slash.diagnostics": "checks are loaded with /doctor",
    "caliban.slash.extensions": "what each of them lists is loaded with it",
    "caliban.slash.further": "what runs lines of a command is loaded with the first that has some",
    "caliban.slash.listed": "files of commands are read where there are some",
    "caliban.slash.models": "stored keys are looked at by /logout",
    "caliban.slash.permissions": "consents are looked at by /trust",
    "caliban.slash.prompts": "a draft is written by /init",
    "caliban.slash.registry": "words are completed once there is a menu",
    "caliban.slash.screen": "themes are those of the terminal",
    "caliban_tui.theme.themes": "what other harnesses write, with the first theme that is so written",
    "caliban.slash.sessions": "prompts are looked for by /rewind",
    "caliban.slash.words": "what completes a word is loaded with the command's menu",
    "caliban.compose.styles": "the same",
    "caliban.compose.extensions": "commands and styles are read where a prompt, or a setting, names one",
    "caliban.compose.opening": "the tool that waits for servers is vouched for where there may be some",
    "caliban.compose.serving": "servers are connected where settings name some",
    "caliban.compose.servers.build": "logins are loaded with the first server that may have one",
    "caliban.compose.skills": "files of skills are read where there are some",
    "caliban.compose.hooks": "hooks are loaded where settings have some",
    "caliban.compose.hooking.build": "models and addresses are asked where a hook wants it",
    "caliban.compose.host": "what hides the process is loaded with the first program that it starts",
    "caliban.compose.memory.run": "memory is loaded where a quick look finds some",
    "caliban.compose.recorder": "where credentials are is looked up for paths that may be such a place",
    "caliban.compose.retention": "checkpoints are loaded where a session goes",
    "caliban.compose.permissions": "without rules the engine is made with the first call that is judged",
    "caliban.compose.project": "trust is looked at where a project asks for something",
    "caliban.compose.live": "what takes changed settings over is loaded where some change",
    "caliban.compose.settings": "settings files are written by commands only",
    "caliban.compose.supplied": "routes of a project are looked for where there is such a file",
    "caliban.compose.surface": "what a person is shown takes more than a digest",
    "caliban.compose.tools": "what reaches the network is loaded with the first call that does",
    "caliban.faces.terminal.asking": "what keeps rules is loaded with the first answer that lasts",
    "caliban.faces.terminal.change": "edits are looked for where a question shows one",
    "caliban.faces.terminal.elicited": "what a server asks is read with its first question",
    "caliban.faces.terminal.trust": "what a project supplies is shown where it is not trusted",
    "caliban.faces.terminal.views": "what a view shows is loaded with the first of its kind",
    "caliban.faces.attachments": "files are opened where there are some to attach",
    "caliban.faces.commandfile": "rules are read where a command has some of its own",
    "caliban.faces.prompt": "files are attached for prompts with an @ only",
    "caliban.compose.provider": "keys that renew are loaded where a program gives them",
    "caliban.compose.model": "the router is loaded where there may be routes only",
    "caliban_mcp.connect": "programs that print headers are run where a server has one",
    "caliban_settings.load": "files that other harnesses share are read where there are some",
    "caliban_agent_core.subagent.tool": "what runs sub-agents is loaded with the first one",
    "caliban_agent_core.compaction": "most runs end before a history is too long",
    "caliban_drive.session": "what summarises a part of a history is loaded where somebody asks for it",
    "caliban_headless.frames": "how calls that wait are named is loaded where some do",
    "caliban_headless.notices": "the same",
    "caliban_headless.input": "images are looked at where a frame holds one",
    "caliban_mcp_client.oauth.authorization": "what a login takes is loaded where somebody logs in",
    "caliban_images.pdf": "what takes PDFs apart is loaded with the first one",
    "caliban_process.runner": "what runs programs is loaded with the first one",
    "caliban_mcp_client.keeper": "what speaks HTTP is loaded where a server is at an address",
    "caliban_mcp_client.client": "what reads answers is loaded with the first that is no list of tools",
    "caliban_mcp_client.handshake": "the table of eras is for servers that are asked for theirs",
    "caliban_mcp_client.inbound": "what answers questions is loaded with the first of them",
    "caliban_mcp_client.toolcall": "headers and schemas of results are looked at where there are some",
    "caliban_mcp.pins": "the lock is for what was let in and changes",
    "caliban_agent_core.toolsearch.source": "the search is loaded where something is held back",
    "caliban_permissions.rules.url": "addresses are looked at with the first page that is fetched",
    "caliban_permissions.engine": "the shell grammar and its tables are loaded with the first command",
    "caliban_permissions.commands.judge": "what lies below is looked at where rules deny or ask about files",
    "caliban.faces.terminal.face": "the app is loaded beside the screen that it stands behind",
    "caliban.faces.terminal.signals": "the watcher of another face is for Windows alone",
    "caliban.faces.terminal.host": "what a person rarely types is loaded when it is typed",
    "caliban.compose.directories": "the sandbox is looked at where a directory is added to one",
    "caliban.faces.local": "another model is opened where a command asks for one",
    "caliban_tui.appearance": "what is said of terminals is loaded when somebody asks",
    "caliban_tui.overlay.window": "lists that few open are loaded with the first",
    "caliban_tui.render.images": "sixels are made where a terminal draws them",
    "caliban_tui.talk": "what a prompt is made of is loaded behind the editor",
    "caliban_tui.draft.editor": "prompt-toolkit is loaded behind the first frame",
    "caliban_tools_builtin.fs.file": "other names are looked for where a file has some",
    "caliban_provider.registry": "the words of an error are cleaned once there is one",
    "caliban_provider_anthropic.factory": "the facts of a provider are read without making one",
    "caliban_provider_bedrock.factory": "the facts of a provider are read without making one",
    "caliban_provider_google.factory": "the facts of a provider are read without making one",
    "caliban_provider_local.factory": "the facts of a provider are read without making one",
    "caliban_provider_ollama.factory": "the facts of a provider are read without making one",
    "caliban_provider_openai.provider": "few servers answer with a reply that comes whole",
    "caliban_provider_openai.factory": "the facts of a provider are read without making one",
    "caliban_provider_vertex.factory": "the facts of a provider are read without making one",
    "caliban_provider_vertex.foundry": "the facts of a provider are read without making one",
    "caliban_sandbox.sandbox": "the proxy where hosts are listed, and a place for /tmp where a command runs",
    "caliban_sessions.entry": "files of images are looked at where a message has one",
    "caliban_sessions.files": "the same, for a fork",
    "caliban_sessions.store": "lists and removals are no part of a run",
    "caliban_skills.tool": "files of skills are looked at with the first call",
    "caliban_telemetry.account": "dollars are written where a limit is reached",
    "caliban_telemetry.prices": "the library is asked for what the table lacks",
    "caliban_tools_builtin.catalog": "a tool's work is loaded with its first call",
    "caliban_tools_builtin.shell.bash": "following what a command prints is for runs that a person watches",
    "caliban_tools_builtin.fs.read": "notebooks are taken apart where there is one",
    "caliban_tools_builtin.search.links": "ignore rules are read where a directory holds no listed file",
    "caliban_tools_builtin.search.scan": "the child loads what its query asks for",
}
"""Modules that import ours inside functions -> why. Heavy third-party libraries need no row."""

OUTSIDE_ENVIRONMENT: Mapping[str, str] = {
    "caliban_tui.boot": "the first frame is drawn before there is anybody who could say what TERM is",
    "caliban_common.paths": "XDG_* and HOME say where a person's files are",
    "caliban_provider.plain_request": "HTTP_PROXY and the like, as every HTTP client reads them",
    "caliban_provider.registry": "`connect` spares embedders the look-up of keys and addresses",
    "caliban_provider.tls": "SSL_CERT_FILE and SSL_CERT_DIR, as every TLS client reads them",
    "caliban_provider_anthropic.factory": "ANTHROPIC_VERSION says what the option anthropic_version says",
    "caliban_provider_bedrock.factory": "AWS_* say who asks and where, as every AWS client reads them",
    "caliban_provider_google.factory": "GOOGLE_* and GEMINI_API_VERSION, as the vendor's client reads them",
    "caliban_provider_openai.factory": "OPENAI_ORG_ID, OPENAI_PROJECT, AZURE_OPENAI_*, as the vendor's does",
    "caliban_provider_local.factory": "CALIBAN_LOCAL_* are options that only this provider knows",
    "caliban_provider_ollama.factory": "OLLAMA_NUM_CTX says what the option num_ctx says",
    "caliban_provider_vertex.factory": "GOOGLE_CLOUD_PROJECT, CLOUD_ML_REGION, as the vendor's client does",
    "caliban_provider_vertex.foundry": "ANTHROPIC_FOUNDRY_RESOURCE, as the vendor's client reads it",
    "caliban_tools_builtin.catalog": "commands inherit the process's environment unless told otherwise",
    "caliban_tools_builtin.search.engine": "PATH, to find ripgrep",
}
"""Modules below the app that read the process's environment -> why."""

PROGRAMS: Mapping[str, str] = {
    "caliban_sandbox.egress.launch": "runs inside of a sandbox, before the program that it becomes",
    "caliban_tools_builtin.search.scan": "runs in a child process, so that a hopeless search can be ended",
    "caliban_mcp_client.testing.rude.program": "a server for tests",
    "caliban_mcp_client.testing.rude.server": "the same server: it ends itself in the midst of things",
}
"""Modules below the faces that are programs of their own: they read arguments and write output -> why."""

WALLS: Mapping[str, str] = {
    "caliban_tui.talk:Talk._guarded": "a fault of ours costs a person a prompt, not the conversation",
    "caliban.main:run": "the end of the program: a fault of ours is told in the format asked for",
    "caliban_provider.guarded:GuardedProvider._walled": "a provider of others: its fault is an error",
    "caliban.compose.provider:_make": "the making of a provider: its fault is an error that names it",
    "caliban.compose.provider:list_models": "the list of a provider: its fault is an error that names it",
    "caliban.compose.provider:close_provider": "the run has its result: what fails after it is only told",
    "caliban_agent_core.walled:conflict_key_of": "the call of a tool: without a word, the worst is assumed",
    "caliban_agent_core.gate:_ruled": "the call of the rules: what they cannot judge is denied",
    "caliban_agent_core.gate:ask_approver": "the call of an approver: one that fails allows nothing",
    "caliban_agent_core.background:Background._run": "the work of a task: its error is handed to who waits",
    "caliban_agent_core.hooks:ask_hooks": "the call of hooks: those that fail object",
    "caliban_mcp_client.inbound:Inbound._tell": "a listener of the host: its fault is noted",
    "caliban_mcp_client.questions:QuestionDesk.answer": "the call of a handler: its fault is told",
    "caliban.compose.servers.asked:AskedQuestion._by_person": "the call of a face: its fault is no answer",
    "caliban_hooks.configured:ConfiguredHooks._tell_only": "a hook beside the run: its fault is only told",
    "caliban_agent_core.reply:ModelCaller._stream": "the call of a provider: its fault ends the run in words",
    "caliban_agent_core.walled:walled": "the work of a tool: its fault is a result that the model reads",
    "caliban_agent_core.registry:_load": "the load of a plugin: its fault is named and the tool left out",
    "caliban_process.process:Process._read_stdout": "who takes output: its fault is raised where it waits",
    "caliban_images.pixels:_opened": "the decoder of pictures: what it raises is no picture",
    "caliban_images.pixels:shrink": "the same, while it scales",
    "caliban_images.pixels:reduced": "the same, for a terminal that draws in few colours",
    "caliban_images.pages:OpenedPdf.part": "the reader of PDFs: what it raises is no PDF",
    "caliban_images.pages:OpenedPdf._page_text": "the same, for one page",
    "caliban_images.pages:opened": "the same, for the whole",
    "caliban_tools_builtin.web.page:_markdown": "the converter of pages: what it raises is no text",
    "caliban_provider.registry:_load": "the load of a plugin: its fault is an unknown provider that says why",
}
"""`module:function` that catches every exception -> what it walls off."""

INIT_NAMES: Mapping[str, int] = {COMMON: 60, "caliban_agent_core": 50}
"""Packages that export more than others: the common values, and all that an embedder needs from one place."""

SIZES: Mapping[str, str] = {
    "caliban_agent_core.agent:Agent.__init__": "keyword-only: all that a run is made of",
    "caliban_agent_core.agent:Agent.run": "keyword-only: what one run has of its own",
    "caliban_agent_core.function:tool": "keyword-only: what a function does not say of itself",
    "caliban_permissions.engine:Engine.__init__": "keyword-only: all that a decision depends on",
}
"""Module, or `module:function`, beyond the limits of size -> why it is better whole. Starts empty."""

DATACLASSES: Mapping[str, str] = {}
"""Modules that make dataclasses -> why no `msgspec.Struct` will do."""

STRUCTS: Mapping[str, str] = {
    "caliban_provider.stream": "made once per delta of a stream: positional construction is half the cost",
    "caliban_provider.sse": "made once per event of a stream, likewise",
    "caliban_provider_local.envelope": "made once per token, likewise",
    "caliban_provider.testing.exchange": "steps of a script, read in order: Send(b'...'), Pause(event)",
    "caliban_provider.testing.contract": "rows of a table of checks",
    "caliban_provider_anthropic.testing.wire": "pieces of a scripted reply",
    "caliban_agent_core.loop:Loop": "works through one run",
    "caliban_agent_core.dispatch:ToolBatch": "fills with the results of one reply",
    "caliban_agent_core.compaction:Compaction": "learns from one run's usage",
    "caliban_tools_builtin.search.matches:MatchCollector": "takes the lines of one search as they come",
    "caliban_drive.result:RunTotals": "sums up the events of a run",
    "caliban_replay.recording:RecordedCall": "fills with the places of its replies",
    "caliban_replay.recording:RecordedToolCall": "fills with the places of its results",
    "caliban_permissions.auto.memory:VerdictKey": "made for each call that a model judges, by place",
    "caliban_permissions.judgement": "made for each part of a line; the words of a ruling by place",
    "caliban_permissions.modes": "made for each line, likewise",
    "caliban_permissions.paths:PathNames": "made for each path of a call",
    "caliban_permissions.rules.chain:Ruling": "made for each part of a line",
    "caliban_permissions.rules.glob": "made for each rule, of one text and what follows from it",
    "caliban_permissions.rules.pattern": "kinds of patterns, with one member each or two",
    "caliban_permissions.rules.url": "parts of an address in their order",
    "caliban_permissions.shell.lex": "made for each token of a line",
    "caliban_permissions.shell.line": "made for each word of a line",
    "caliban_permissions.commands.destruction": "made for each word of a line that deletes",
    "caliban_permissions.commands.forms": "made for each command of a line",
    "caliban_permissions.commands.wrappers": "rows of a table of programs",
    "caliban_permissions.reach.git": "made for each command of a line, as the readers of other programs",
    "caliban_permissions.reach.survey": "made for each file that a rule means",
    "caliban_permissions.reach.value": "what feeds a command, made for each of a line",
    "caliban_permissions.reach.words": "made for each command of a line",
    "caliban_permissions.readonly.index": "made for each file of a repository",
    "caliban_permissions.readonly.judge": "made for each line",
    "caliban_permissions.readonly.options": "rows of a table of programs",
    "caliban_permissions.readonly.reads": "made for each command that may be read-only",
    "caliban_permissions.side_effects.everyday": "rows of a table of lines",
    "caliban_permissions.side_effects.interpreters": "rows of a table of programs",
    "caliban_permissions.side_effects.known": "rows of a table of programs",
    "caliban_permissions.side_effects.row": "rows of a table of programs",
}
"""Module or `module:Class` whose Structs are not frozen and keyword-only -> why.

Private ones hold working state of their module.
"""

CAPITAL_WORDS: Mapping[str, str] = {
    "Read": "the tool that a model is told to use",
}
"""Words with a capital at which a hint may begin -> what they name."""

FACES = 4
"""The floor from which on words may name flags and commands: below it an error has a remedy (ADR 0007)."""

OTHER_PROGRAMS: Mapping[str, str] = {
    "caliban_sandbox.egress.launch": "runs inside of a sandbox, before the program that it becomes",
    "caliban_permissions.side_effects": "tables of the options of the programs that it judges",
    "caliban_permissions.readonly": "the same",
    "caliban_permissions.commands": "the same",
    "caliban_permissions.reach": "the same",
    "caliban_plugins.npm": "the options of npm",
    "caliban_plugins.repository": "the options of git",
    "caliban_sandbox.sandbox": "the options of bubblewrap",
    "caliban_tools_builtin.search.engine": "the options of ripgrep",
}
"""Modules below the faces whose literals are options of programs other than ours."""

TOOL_CATALOG = "caliban_tools_builtin.specs"
"""Where the built-in tools have their names."""

TOOL_NAMES: Mapping[str, str] = {
    "caliban.compose.hooking.dialect": "what hook programs, written for another harness, call the tools",
    "caliban.cli.foreign": "what other harnesses call the tools, and ours",
    "caliban_permissions.auto.lists": "patterns of the auto mode, which are rules as people write them",
    "caliban_permissions.names": "rules of people name tools, and families of tools by one of them",
}
"""Modules outside the built-in tools with a tool's name in a literal -> why."""

BANNED_NAMES = (
    "util",
    "utils",
    "helper",
    "helpers",
    "misc",
    "manager",
    "managers",
    "base",
    "core",
    "stuff",
    "common",
)
"""Words that say nothing about what lives in a module."""

EMPTY_LOCALS = ("found", "told", "said")
"""Words that say what was done to get at something and not what it is: no variable is called so."""

PARALLEL = tuple(
    (word,) for word in ("encode", "decode", "transport", "models", "provider", "factory", "settings")
)
"""The last words of modules that every adapter has: what they define may be called alike."""

SAME_NAMES: Mapping[str, str] = {}
"""A public class name that stands for two things -> why neither has a better one yet."""

ERRORS_ELSEWHERE: Mapping[str, str] = {
    "caliban_agent_core.reply:ThinkingOverflow": "a signal within a turn, never seen outside",
    "caliban_permissions.reach.objects:UnknownObjectError": "a signal to the survey, likewise not seen",
    "caliban_permissions.rules.glob:GlobSyntaxError": "a signal to the reader of patterns, not seen outside",
    "caliban.cli.flag:WrongValue": "words for argparse, and a sign to read again with it; never seen outside",
    "caliban_tools_builtin.fs.match:TooMany": "a signal within one edit, never seen outside",
}
"""`module:Class` of an exception that lives outside its package's `errors.py` -> why."""

SCOPES = (
    "create_task_group",
    "CancelScope",
    "fail_after",
    "move_on_after",
    "open_nursery",
    "TaskGroup",
)
"""What a `yield` must not leave open, except in a context manager."""
