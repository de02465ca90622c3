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

/** An attachment that brings its element to the top of the visible part of the page, where the address asks for it. */
export function broughtIntoSight(wanted: boolean): (element: Element) => void {
  return (element) => {
    if (wanted) element.scrollIntoView({ block: 'start' })
  }
}
