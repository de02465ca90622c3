"""The analyses and the timeline over HTTP, and the page that shows them."""
