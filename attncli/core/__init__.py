"""The mathematics of attention, in small pure functions over the Array API."""
