// The hash part of the address: which run, which page, and every view state as a parameter.

export interface Route {
  /** Null on the list of runs. */
  readonly run: string | null
  readonly page: string
  readonly params: Readonly<Record<string, string>>
}

export const RUN_LIST: Route = { run: null, page: 'runs', params: {} }

/** Parameters that follow the user from page to page of one run. */
export const SHARED_PARAMS: readonly string[] = ['rank', 'step', 't', 'vs', 'tour', 'stop']

/** Parameters that mean the same in another run: they stay when the run is switched. */
const KEPT_ACROSS_RUNS = new Set(['rank', 'vs', 'by', 'lane', 'side', 'order', 'tab', 'group', 'measure'])

/** Read `#/run/<id>/<page>?a=b`; what cannot be read is the list of runs. */
export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#/, '')
  const cut = text.indexOf('?')
  const path = cut < 0 ? text : text.slice(0, cut)
  const params = cut < 0 ? {} : parseParams(text.slice(cut + 1))
  const parts = path.split('/').filter(Boolean).map(decode)
  if (parts[0] === 'run' && parts[1]) return { run: parts[1], page: parts[2] ?? 'overview', params }
  return { run: null, page: parts[0] ?? 'runs', params }
}

/** The address of a route; parameters in alphabetical order, so that equal states have equal links. */
export function formatRoute(route: Route): string {
  const parts = route.run === null ? [route.page] : ['run', route.run, route.page]
  const path = parts.map((part) => `/${encodeURIComponent(part)}`).join('')
  const params = Object.entries(route.params)
    .filter(([, value]) => value !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
  return `#${path}${params.length ? `?${params.join('&')}` : ''}`
}

/** The route to another page of the same run, keeping what follows the user. */
export function toPage(from: Route, page: string, params: Record<string, string | null> = {}): Route {
  const kept: Record<string, string> = {}
  for (const name of SHARED_PARAMS) {
    const value = from.params[name]
    if (value !== undefined) kept[name] = value
  }
  return { run: from.run, page, params: merged(kept, params) }
}

/** The same page of another run, with the ranks and the grouping that were chosen. */
export function toRun(from: Route, run: string): Route {
  const kept = Object.entries(from.params).filter(([name]) => KEPT_ACROSS_RUNS.has(name))
  return { run, page: from.page, params: Object.fromEntries(kept) }
}

/** Parameters with a change applied; null and the empty text remove one. */
export function merged(
  params: Readonly<Record<string, string>>,
  change: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const result: Record<string, string> = { ...params }
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === '') delete result[name]
    else result[name] = value
  }
  return result
}

function parseParams(text: string): Record<string, string> {
  const pieces = text.split('&').map((piece) => [piece, piece.indexOf('=')] as const)
  // From entries, so that a name such as __proto__ is a name like any other.
  return Object.fromEntries(
    pieces
      .filter(([, cut]) => cut > 0)
      .map(([piece, cut]) => [decode(piece.slice(0, cut)), decode(piece.slice(cut + 1))]),
  )
}

/** Like encodeURIComponent, but leaves what is legible and safe in a fragment: links are read by people. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/%(2C|3A|2F|40|24)/g, (code) => decodeURIComponent(code))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
