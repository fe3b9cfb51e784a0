"""The skills of a run by name: of two with one name the first counts; the other stays reachable."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_skills.errors import NoSuchSkill
from caliban_skills.skill import Skill

MAX_SKILLS = 512


class SkillCatalog(Struct, frozen=True, kw_only=True):
    """Skills in a fixed order, each name once; those that are `shadowed`; what is wrong with files."""

    skills: tuple[Skill, ...] = ()
    shadowed: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()

    def find(self, name: str) -> Skill:
        """The skill `name`, or `scope:name` of one that is shadowed too. Raises `NoSuchSkill`."""
        every = (*self.skills, *self.shadowed)
        return next((skill for skill in every if skill.full_name == name), None) or self.named(name)

    def named(self, name: str) -> Skill:
        """The skill `name`, by this name alone, as rules use it. Raises `NoSuchSkill`."""
        for skill in self.skills:
            if skill.name == name:
                return skill
        names = [skill.name for skill in self.skills]
        raise NoSuchSkill(
            f"there is no skill {one_line(name, max_chars=80)!r}",
            hint=did_you_mean(name, names) or f"there are: {', '.join(names) or 'none'}",
        )

    def without(self, is_denied: Callable[[Skill], bool]) -> SkillCatalog:
        """The same without those that are denied."""
        kept = tuple(skill for skill in self.skills if not is_denied(skill))
        shadowed = tuple(skill for skill in self.shadowed if not is_denied(skill))
        return SkillCatalog(skills=kept, shadowed=shadowed, problems=self.problems)


def make_catalog(skills: Iterable[Skill], problems: Iterable[str] = ()) -> SkillCatalog:
    """A catalog of `skills`, given in the order in which they count."""
    first: dict[str, Skill] = {}
    shadowed: list[Skill] = []
    remarks = list(problems)
    for skill in skills:
        if skill.name in first:
            shadowed.append(skill)
        elif len(first) == MAX_SKILLS:
            remarks.append(f"the skill {skill.name} is left out: there are {MAX_SKILLS} others")
        else:
            first[skill.name] = skill
    return SkillCatalog(skills=tuple(first.values()), shadowed=tuple(shadowed), problems=tuple(remarks))
