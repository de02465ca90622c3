"""What a user may set: parameters, their enumerations, the schedule."""
