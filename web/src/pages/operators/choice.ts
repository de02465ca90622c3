// What the user chose on the page, as the address holds it.
import type { Query } from '../../api/client'
import { sortingOf, type Sorting } from '../../components/table/columns'
import { GROUPINGS, type Grouping } from './rows'

export interface Choice {
  readonly by: Grouping
  /** Null: the device where it has rows, else the host. */
  readonly side: 'device' | 'host' | null
  readonly lane: 'compute' | 'communication' | 'copy' | 'all'
  readonly search: string
  readonly searchIn: 'kernel' | 'operator'
  readonly type: string | null
  readonly category: string | null
  readonly picked: readonly string[]
  /** Null: as the server sorts, the longest first. */
  readonly sort: Sorting | null
  readonly offset: number
}

/** Rows that the server sends at a time. */
export const STRETCH = 500

const LANES = ['compute', 'communication', 'copy', 'all'] as const

export function choiceOf(params: Readonly<Record<string, string>>): Choice {
  const side = params['side']
  return {
    by: oneOf(GROUPINGS, params['by']) ?? 'type',
    side: side === 'device' || side === 'host' ? side : null,
    lane: oneOf(LANES, params['lane']) ?? 'all',
    search: params['q'] ?? '',
    searchIn: params['in'] === 'operator' ? 'operator' : 'kernel',
    type: params['type'] ?? null,
    category: params['category'] ?? null,
    picked: params['pick']?.split('\n') ?? [],
    sort: sortingOf(params['sort']),
    offset: Math.max(0, Number(params['from'] ?? 0) || 0),
  }
}

/** The part of a choice that the server answers. */
export function queryOf(choice: Choice): Query {
  return {
    by: choice.by,
    side: choice.side,
    lane: choice.lane,
    search: choice.searchIn === 'kernel' ? choice.search : null,
    search_operator: choice.searchIn === 'operator' ? choice.search : null,
    kernel_type: choice.type,
    category: choice.category,
    sort: choice.sort?.column ?? null,
    ascending: choice.sort?.descending === false ? true : null,
    offset: choice.offset || null,
    limit: STRETCH,
  }
}

function oneOf<T extends string>(all: readonly T[], value: string | undefined): T | null {
  return all.find((one) => one === value) ?? null
}
