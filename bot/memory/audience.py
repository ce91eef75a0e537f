"""Who may see a memory, and where. A memory is used only in turns of its owner.

learned in                      audience                 used in
the owner's DM                  dm                       the owner's DM
private channel or group DM C   private, C               the owner's DM, and C while C is not shared
public channel                  public                   the owner's DM and every conversation that is not shared
shared channel C                private|public, C, shared  the owner's DM and C
(widened by the owner)          workspace                the owner's DM and every conversation that is not shared

A shared channel has people of another organization (`Place.shared`). A private channel that becomes public loses what
was learned there. An unknown reader, place or workspace sees nothing.
"""

from storage.records import Audience, Person, Place

WORKSPACE = Audience("workspace")


def audience_of(place: Place) -> Audience:
    """Return the audience of what is learned in a place."""
    if place.kind == "im":
        return Audience("dm")
    if place.kind == "public":
        return Audience("public", place.channel, shared=True) if place.shared else Audience("public")
    return Audience("private", place.channel, shared=place.shared)


def visible_audiences(place: Place) -> tuple[Audience, ...] | None:
    """Return every audience whose memories may be used in a place. None means all: only the owner reads a DM."""
    if place.kind == "im":
        return None
    shared = (Audience("public", place.channel, shared=True),)
    private = () if place.kind == "public" else (Audience("private", place.channel, shared=True),)
    if place.shared:
        return (*private, *shared)
    unshared = () if place.kind == "public" else (Audience("private", place.channel),)
    return (*private, *shared, *unshared, Audience("public"), WORKSPACE)


def is_visible(audience: Audience, owner: str, reader: str, place: Place) -> bool:
    """Return True if a memory of `owner` may be used in a turn of `reader` in `place`."""
    if not reader or reader != owner:
        return False
    allowed = visible_audiences(place)
    return allowed is None or audience in allowed


def is_known_reader(person: Person, place: Place) -> bool:
    """Return True if the person is known and in the workspace of the place. Otherwise no memory may be used."""
    return bool(person.id) and person.team == place.team


def covers(wide: Audience, narrow: Audience) -> bool:
    """Return True if a memory with audience `wide` may be used wherever one with `narrow` may."""
    if wide == narrow or narrow.kind == "dm":
        return True
    everywhere = not wide.shared and wide.kind in {"public", "workspace"}
    return everywhere and not narrow.shared
