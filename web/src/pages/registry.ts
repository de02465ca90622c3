// All pages of a run, in the order of the navigation. A page is loaded when it is first opened.
import type { Component } from 'svelte'
import type { PlainKey } from '../i18n/language.svelte'
import type { Finding } from '../api/schema'
import type { IconName } from '../components/icons'
import { worstOf } from '../findings/severity'

export interface PageEntry {
  readonly id: string
  readonly title: PlainKey
  readonly icon: IconName
  /** Tables of which at least one must have rows; without them the page explains how to collect its data. */
  readonly needs: readonly string[]
  readonly load: () => Promise<{ default: Component }>
}

export interface PageGroup {
  readonly title: PlainKey
  readonly pages: readonly PageEntry[]
}

export const PAGE_GROUPS: readonly PageGroup[] = [
  {
    title: 'nav.group.overview',
    pages: [
      {
        id: 'overview',
        title: 'page.overview',
        icon: 'gauge',
        needs: [],
        load: () => import('./overview/Overview.svelte'),
      },
      {
        id: 'timeline',
        title: 'page.timeline',
        icon: 'timeline',
        needs: ['slices', 'counters'],
        load: () => import('./timeline/TimelinePage.svelte'),
      },
    ],
  },
  {
    title: 'nav.group.compute',
    pages: [
      { id: 'steps', title: 'page.steps', icon: 'steps', needs: ['steps'], load: () => import('./steps/Steps.svelte') },
      {
        id: 'operators',
        title: 'page.operators',
        icon: 'operators',
        needs: ['slices', 'reported'],
        load: () => import('./operators/Operators.svelte'),
      },
    ],
  },
  {
    title: 'nav.group.data',
    pages: [
      {
        id: 'data',
        title: 'page.data',
        icon: 'data',
        needs: ['pipeline_ops', 'pipeline_batches', 'pipeline_samples'],
        load: () => import('./data/Data.svelte'),
      },
      { id: 'cpu', title: 'page.cpu', icon: 'cpu', needs: ['cpu'], load: () => import('./cpu/Cpu.svelte') },
    ],
  },
  {
    title: 'nav.group.memory',
    pages: [
      {
        id: 'memory',
        title: 'page.memory',
        icon: 'memory',
        needs: ['memory', 'allocations'],
        load: () => import('./memory/Memory.svelte'),
      },
    ],
  },
  {
    title: 'nav.group.communication',
    pages: [
      {
        id: 'cluster',
        title: 'page.cluster',
        icon: 'cluster',
        needs: ['collectives', 'transfers'],
        load: () => import('./cluster/Cluster.svelte'),
      },
    ],
  },
  {
    title: 'nav.group.tools',
    pages: [{ id: 'sql', title: 'page.sql', icon: 'sql', needs: [], load: () => import('./sql/Sql.svelte') }],
  },
]

export const PAGES: readonly PageEntry[] = PAGE_GROUPS.flatMap((group) => group.pages)

/** Whether the run holds what a page shows: rows of one of its tables, or a finding that it proves. */
export function hasData(
  page: PageEntry,
  tables: Readonly<Record<string, number>>,
  findings: readonly Finding[],
): boolean {
  const rows = page.needs.length === 0 || page.needs.some((table) => (tables[table] ?? 0) > 0)
  return rows || worstOf(page.id, findings) !== null
}
