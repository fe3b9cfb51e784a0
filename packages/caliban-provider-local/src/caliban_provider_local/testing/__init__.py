"""What tests of other packages use of this one."""
