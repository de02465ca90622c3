"""What all forms of Ascend captures share: rank directories, identity, the meaning of device tasks."""
