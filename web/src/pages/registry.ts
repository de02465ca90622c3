// All pages of a run, by the question they answer, in the order of the navigation. A page is loaded when it is first opened.
import type { Component } from 'svelte'
import type { PlainKey } from '../i18n/language.svelte'
import type { Finding, RunDetails } from '../api/schema'
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
  readonly id: string
  /** Null for a page that stands by itself. */
  readonly title: PlainKey | null
  readonly pages: readonly PageEntry[]
}

export const PAGE_GROUPS: readonly PageGroup[] = [
  {
    id: 'verdict',
    title: 'nav.group.verdict',
    pages: [
      {
        id: 'overview',
        title: 'page.overview',
        icon: 'gauge',
        needs: [],
        load: () => import('./overview/Overview.svelte'),
      },
      { id: 'advice', title: 'page.advice', icon: 'advice', needs: [], load: () => import('./advice/Advice.svelte') },
    ],
  },
  {
    id: 'time',
    title: 'nav.group.time',
    pages: [
      {
        id: 'timeline',
        title: 'page.timeline',
        icon: 'timeline',
        needs: ['slices', 'counters'],
        load: () => import('./timeline/TimelinePage.svelte'),
      },
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
    id: 'cluster',
    title: 'nav.group.cluster',
    pages: [
      {
        id: 'cluster',
        title: 'page.cluster',
        icon: 'cluster',
        needs: ['collectives', 'transfers'],
        load: () => import('./cluster/Cluster.svelte'),
      },
      {
        id: 'communication',
        title: 'page.communication',
        icon: 'communication',
        needs: ['collectives', 'transfers'],
        load: () => import('./communication/Communication.svelte'),
      },
    ],
  },
  {
    id: 'input',
    title: 'nav.group.input',
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
    id: 'memory',
    title: null,
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
    id: 'compare',
    title: null,
    pages: [
      {
        id: 'compare',
        title: 'page.compare',
        icon: 'compare',
        needs: ['steps'],
        load: () => import('./compare/Compare.svelte'),
      },
    ],
  },
  {
    id: 'sql',
    title: null,
    pages: [{ id: 'sql', title: 'page.sql', icon: 'sql', needs: [], load: () => import('./sql/Sql.svelte') }],
  },
]

export const PAGES: readonly PageEntry[] = PAGE_GROUPS.flatMap((group) => group.pages)

/** Pages that carry the run's verdict as a whole. */
export const VERDICT_PAGES: readonly string[] = ['overview', 'advice']

/** A page, or another where the run has nothing for it: a link never leads to "not recorded". */
export function pageWithData(
  id: string,
  otherwise: string,
  run: Pick<RunDetails, 'tables'> | undefined,
  findings: readonly Finding[],
): string {
  const page = PAGES.find((one) => one.id === id)
  return page && run && hasData(page, run, findings) ? id : otherwise
}

/** Whether the run holds what a page shows: rows of one of its tables, or a finding that it proves. */
export function hasData(page: PageEntry, run: Pick<RunDetails, 'tables'>, findings: readonly Finding[]): boolean {
  return hasRows(page, run) || worstOf(page.id, findings) !== null
}

/** Whether the run has rows of one of a page's own tables. */
export function hasRows(page: PageEntry, run: Pick<RunDetails, 'tables'>): boolean {
  return page.needs.length === 0 || page.needs.some((table) => (run.tables[table] ?? 0) > 0)
}
