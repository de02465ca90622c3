// What the heat maps of the page can show: who waited for whom, and what moved between which ranks.
import type { Link, Wait } from '../../api/schema'
import type { Cell } from './matrix'

/** The rank that came last to a call, or the one that the wait goes back to. */
export const BLAMES = ['root', 'blames'] as const
export type Blame = (typeof BLAMES)[number]

export const MEASURES = ['gb_per_s', 'bytes', 'time_us', 'packets'] as const
/** What the matrix can show: a number of each link, or of which kind it is. */
export type Shown = Measure | 'transport'
export type Measure = (typeof MEASURES)[number]

export function waitCells(waits: readonly Wait[], blame: Blame): Cell[] {
  return waits.map((wait) => ({ row: wait.rank, column: wait[blame], value: wait.wait_us }))
}

/** Measures that some link has. */
export function recordedMeasures(links: readonly Link[]): Measure[] {
  return MEASURES.filter((measure) => links.some((link) => link[measure] !== null))
}

/** Kinds of links between different ranks, in the order of their names. */
export function transportsOf(links: readonly Link[]): string[] {
  return [...new Set(between(links).map((link) => link.transport ?? ''))].toSorted()
}

/** Links between different ranks of one transport, or of all; copies within a rank are no links. */
export function linkCells(links: readonly Link[], measure: Measure, transport: string | null): Cell[] {
  return between(links)
    .filter((link) => transport === null || (link.transport ?? '') === transport)
    .flatMap((link): Cell[] => {
      const [row, column] = [link.rank, link.peer]
      if (measure === 'gb_per_s')
        return link.time_us > 0 ? [{ row, column, value: link.bytes / 1000, per: link.time_us }] : []
      const value = link[measure]
      return value === null ? [] : [{ row, column, value }]
    })
}

/** Per pair of ranks the transport that carried most between them, as its position among `transports`. */
export function transportCells(links: readonly Link[], transports: readonly string[]): Cell[] {
  const most = new Map<string, Link>()
  for (const link of between(links)) {
    const pair = `${link.rank} ${link.peer}`
    if (link.bytes > (most.get(pair)?.bytes ?? -1)) most.set(pair, link)
  }
  return [...most.values()].map((link) => ({
    row: link.rank,
    column: link.peer,
    value: transports.indexOf(link.transport ?? ''),
  }))
}

function between(links: readonly Link[]): Link[] {
  return links.filter((link) => link.rank !== link.peer)
}
