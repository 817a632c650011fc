"""The ground: no module here knows anything of doctor but its neighbours."""
