// What is drawn far below is asked for when the reader comes near it.

/** An attachment that calls back once, when its element comes near the visible part of the page. */
export function inSight(seen: () => void): (element: Element) => () => void {
  return (element) => {
    const watcher = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return
        watcher.disconnect()
        seen()
      },
      { rootMargin: '200px' },
    )
    watcher.observe(element)
    return () => watcher.disconnect()
  }
}
