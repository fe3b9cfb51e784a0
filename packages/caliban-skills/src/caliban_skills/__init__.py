"""Skills and command files: instructions that are found by name, and loaded when they are needed."""

from caliban_skills.builtins import builtin_skills
from caliban_skills.catalog import SkillCatalog, make_catalog
from caliban_skills.errors import ArgumentRefused, NoSuchSkill, ResourceRefused, SkillFailed, SkillRefused
from caliban_skills.skill import Skill, SkillScope
from caliban_skills.tool import SkillTool, loaded_text, skill_spec

__all__ = [
    "ArgumentRefused",
    "NoSuchSkill",
    "ResourceRefused",
    "Skill",
    "SkillCatalog",
    "SkillFailed",
    "SkillRefused",
    "SkillScope",
    "SkillTool",
    "builtin_skills",
    "loaded_text",
    "make_catalog",
    "skill_spec",
]
