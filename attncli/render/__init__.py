"""Sheets to text: one module for each format."""
