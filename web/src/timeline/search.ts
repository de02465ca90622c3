// The search box: plain text, a /regular expression/, and conditions such as `dur>100us kind:kernel`.
import type { Query } from '../api/client'

export interface SearchQuery {
  readonly text: string
  readonly regex: boolean
  readonly kind: string | null
  readonly least: number | null
  readonly most: number | null
}

const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }

export function parseSearch(input: string): SearchQuery | null {
  let kind: string | null = null
  let least: number | null = null
  let most: number | null = null
  const words: string[] = []
  for (const word of input.trim().split(/\s+/)) {
    const duration = /^dur([<>])=?(\d+(?:\.\d+)?)(ns|us|µs|ms|s)$/.exec(word)
    const condition = /^kind:(\w+)$/.exec(word)
    if (duration) {
      const ns = Math.round(Number(duration[2]) * (UNITS[duration[3] ?? ''] ?? 1))
      if (duration[1] === '>') least = ns
      else most = ns
    } else if (condition) kind = condition[1] ?? null
    else if (word !== '') words.push(word)
  }
  const text = words.join(' ')
  const regex = /^\/(.+)\/$/.exec(text)?.[1]
  if (text === '' && kind === null && least === null && most === null) return null
  return { text: regex ?? text, regex: regex !== undefined, kind, least, most }
}

/** Parameters of the server's search. */
export function toQuery(query: SearchQuery, ranks: readonly number[]): Query {
  return {
    // Conditions alone are a question about every name.
    q: query.text === '' ? '.*' : query.text,
    mode: query.regex || query.text === '' ? 'regex' : 'text',
    kind: query.kind,
    min_dur_ns: query.least,
    max_dur_ns: query.most,
    rank: ranks,
  }
}

/** Which names the text matches, for dimming the others; null when the query says nothing about names. */
export function nameMatcher(query: SearchQuery): ((name: string) => boolean) | null {
  if (query.text === '') return null
  if (query.regex) {
    try {
      const pattern = new RegExp(query.text, 'i')
      return (name) => pattern.test(name)
    } catch {
      return null
    }
  }
  const text = query.text.toLowerCase()
  return (name) => name.toLowerCase().includes(text)
}
