"""Everything a user can set: parameters, their enumerations, the schedule."""
