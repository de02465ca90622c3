// The current route as reactive state. Discrete changes push a history entry, continuous ones replace it.
import { untrack } from 'svelte'
import { formatRoute, merged, parseRoute, toPage, type Route } from './route'

const REPLACE_DELAY_MS = 300

class Router {
  route = $state.raw<Route>(parseRoute(location.hash))
  #timer: ReturnType<typeof setTimeout> | undefined
  #address = location.hash

  constructor() {
    addEventListener('hashchange', () => {
      clearTimeout(this.#timer)
      this.#address = location.hash
      this.route = parseRoute(location.hash)
    })
  }

  /** Go somewhere; Back returns. */
  push(route: Route): void {
    this.#flush()
    if (formatRoute(route) === formatRoute(this.#now)) return
    this.route = route
    history.pushState(null, '', formatRoute(route))
    this.#address = location.hash
  }

  /** Go somewhere in place of here: Back leads to what was before. */
  replace(route: Route): void {
    this.route = route
    history.replaceState(null, '', formatRoute(route))
    this.#address = location.hash
  }

  /** Change parameters of this page as one step of the history. */
  change(params: Record<string, string | null>): void {
    this.push({ ...this.#now, params: merged(this.#now.params, params) })
  }

  /** Change parameters that move all the time (zoom, filter text); the address follows a moment later. */
  adjust(params: Record<string, string | null>): void {
    this.route = { ...this.#now, params: merged(this.#now.params, params) }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#flush(), REPLACE_DELAY_MS)
  }

  /** The link to a page of this run, with the rank, step and time range that follow the user. */
  href(page: string, params: Record<string, string | null> = {}): string {
    return formatRoute(toPage(this.route, page, params))
  }

  /** The route without becoming a dependency of the effect that changes it. */
  get #now(): Route {
    return untrack(() => this.route)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    // The browser went back, and its event is on the way: what it went back to must not be overwritten.
    if (location.hash !== this.#address) return
    history.replaceState(null, '', formatRoute(this.#now))
    this.#address = location.hash
  }
}

export const router = new Router()
