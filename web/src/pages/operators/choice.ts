// What the user chose on the page, as the address holds it.
import type { Query } from '../../api/client'
import { GROUPINGS, METRICS, type Grouping, type Metric } from './rows'

export interface Choice {
  readonly by: Grouping
  /** Null: the device where it has rows, else the host. */
  readonly side: 'device' | 'host' | null
  readonly lane: 'compute' | 'communication' | 'copy' | 'all'
  readonly search: string
  readonly searchIn: 'kernel' | 'operator'
  readonly metric: Metric
  readonly chart: 'bar' | 'donut'
  readonly type: string | null
  readonly category: string | null
  readonly picked: readonly string[]
}

const LANES = ['compute', 'communication', 'copy', 'all'] as const

export function choiceOf(params: Readonly<Record<string, string>>): Choice {
  const side = params['side']
  return {
    by: oneOf(GROUPINGS, params['by']) ?? 'type',
    side: side === 'device' || side === 'host' ? side : null,
    lane: oneOf(LANES, params['lane']) ?? 'compute',
    search: params['q'] ?? '',
    searchIn: params['in'] === 'operator' ? 'operator' : 'kernel',
    metric: oneOf(METRICS, params['metric']) ?? 'total_us',
    chart: params['chart'] === 'donut' ? 'donut' : 'bar',
    type: params['type'] ?? null,
    category: params['category'] ?? null,
    picked: params['pick']?.split('\n') ?? [],
  }
}

/** The part of a choice that the server answers; type and category are chosen among its rows. */
export function queryOf(choice: Choice): Query {
  return {
    by: choice.by,
    side: choice.side,
    lane: choice.by === 'category' && choice.lane === 'compute' ? null : choice.lane,
    search: choice.searchIn === 'kernel' ? choice.search : null,
    search_operator: choice.searchIn === 'operator' ? choice.search : null,
  }
}

function oneOf<T extends string>(all: readonly T[], value: string | undefined): T | null {
  return all.find((one) => one === value) ?? null
}
