// Numbers of a page that say which field of which answer they are, held to that answer.
import type { Page } from '@playwright/test'
import type { App, Run } from './fixtures'

export interface Place {
  readonly path: string
  readonly params?: Readonly<Record<string, string>>
}
type Values = Readonly<Record<string, string>>
interface Shown {
  /** The list of the answer that it is of, such as `pipeline.ops`. */
  readonly question: string
  readonly values: Values
  /** The stretch of time that it is about, where it is not the whole run. */
  readonly window: string | null
  /** What the page asked of a route that takes a document, as JSON. */
  readonly request: string | null
  /** What the reader sees of a tile that shows a share of the period. */
  readonly tile: string | null
  /** The numbers that a chart draws at the position of this row. */
  readonly drawn: readonly number[]
}
export interface Compared {
  readonly compared: number
  readonly wrong: readonly object[]
}

/** How long a page may take on a busy machine until it says what it has been told. */
const PATIENCE_MS = 60_000
const LOOK_MS = 200

/** Whatever says that it is a field of an answer, row by row. */
export function shownOn(page: Page): Promise<readonly Shown[]> {
  return page.evaluate(() => {
    const named = '[data-field][data-value]'
    const fields = (element: HTMLElement): [string, string][] =>
      [...(element.matches(named) ? [element] : []), ...element.querySelectorAll<HTMLElement>(named)].map((one) => [
        one.dataset['field'] ?? '',
        one.dataset['value'] ?? '',
      ])
    return [...document.querySelectorAll<HTMLElement>('[data-question]')].flatMap((element) => {
      const entries = [...element.querySelectorAll<HTMLElement>('[role=row], [data-entry]')]
      return (entries.length > 0 ? entries : [element])
        .map((row) => ({
          question: element.dataset['question'] ?? '',
          values: Object.fromEntries(fields(row)),
          window: element.dataset['window'] ?? null,
          request: element.closest<HTMLElement>('[data-request]')?.dataset['request'] ?? null,
          drawn: (row.dataset['drawn'] ?? '').split(' ').filter(Boolean).map(Number),
          tile: element.matches('.delimitation [data-field]') ? element.textContent : null,
        }))
        .filter(({ values }) => Object.keys(values).length > 0)
    })
  })
}

/** Compare what stands on the page with the answers, asked as the page of this address asks. */
export async function compare(app: App, run: string, rank: number, place: Place): Promise<Compared> {
  const answers = new Map<string, readonly unknown[]>()
  const wrong: object[] = []
  let compared = 0
  for (const { question, values, window, request, tile, drawn } of await shownOn(app.page)) {
    const rows = answers.get(question) ?? (await rowsOf(app, run, rank, { question, window, request, place }))
    answers.set(question, rows)
    compared += Object.keys(values).length
    // A chart draws the numbers of its row and no others; what a row does not know may be drawn as 0.
    const known = new Set([0, ...Object.values(values).map(Number)])
    if (drawn.some((value) => !known.has(value))) wrong.push({ question, values, drawn })
    const row = rows.find((one) => says(one, values))
    if (row === undefined || (tile !== null && tile !== shareOfPeriod(row, values)))
      wrong.push({ question, values, tile })
  }
  return { compared, wrong }
}

interface Asked {
  readonly question: string
  readonly window: string | null
  readonly request: string | null
  readonly place: Place
}

/** The entries of a list of an answer. */
async function rowsOf(app: App, run: string, rank: number, asked: Asked): Promise<readonly unknown[]> {
  const [plainName = '', own = ''] = asked.question.split('?')
  const [name = '', ...path] = plainName.split('.')
  // What a part of the page asks beside the address, such as another grouping.
  const query = new URLSearchParams(own)
  if (query.get('of') === 'all') query.delete('of')
  else query.set('rank', String(rank))
  if (name === 'lanes') {
    const [from = '', to = ''] = (asked.window ?? '').split('-')
    query.set('from_ns', from)
    query.set('to_ns', to)
  } else query.set('integers', 'text')
  if (name === 'operators')
    for (const [key, usual] of [
      ['by', 'type'],
      ['lane', 'compute'],
    ] as const)
      if (own === '') query.set(key, asked.place.params?.[key] ?? usual)
  // A comparison is of two runs and says in its own query which.
  if (name === 'compare') query.delete('rank')
  const route = name === 'compare' ? 'compare' : `run/${run}/${name}`
  const answer =
    asked.request === null
      ? await app.api<{ data?: unknown }>(`${route}?${query.toString()}`)
      : await app.api<{ data?: unknown }>(`run/${run}/${name}`, JSON.parse(asked.request))
  return path.reduce<unknown[]>(
    (parts, key) => parts.flatMap((part) => (part as Record<string, unknown>)[key] ?? []),
    [answer.data ?? answer].flat(),
  )
}

/** Whether a row of the answer has all the values that are shown, under the names they are shown with. */
function says(row: unknown, values: Values): boolean {
  return Object.entries(values).every(([field, value]) => {
    const known = field.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | null)?.[key], row)
    return known !== null && known !== undefined && (String(known) === value || Number(known) === Number(value))
  })
}

function shareOfPeriod(row: unknown, values: Values): string {
  const [value = ''] = Object.values(values)
  const format = new Intl.NumberFormat('en-US', {
    style: 'percent',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  })
  // A tile of all ranks shows the share that the answer gives.
  const { period_us: period = 1 } = row as { period_us?: number }
  return format.format(Number(value) / period)
}

interface Finding {
  readonly id: string
  readonly severity: string
  readonly gain_us: number | null
  readonly title: { readonly en: string }
  readonly evidence: readonly { readonly metric: string; readonly value: number }[]
}

/** What gains nothing alone is shown with what it saves together with another, which is a number of its evidence. */
function savesOnlyTogether({ gain_us, evidence }: Finding): boolean {
  return gain_us === 0 && evidence.some(({ metric }) => metric === 'gain_together')
}

/** What stands on the Overview now. */
async function conclusions(app: App): Promise<object> {
  return app.page.evaluate(() => ({
    sentence: document.querySelector('[aria-label=Verdict] .headline')?.textContent?.trim() ?? '',
    findings: [...document.querySelectorAll<HTMLElement>('[data-finding]')].map((card) => [
      card.dataset['finding'],
      card.dataset['severity'],
      card.getAttribute('aria-label'), // the card of the sentence itself shows only its kind
      ...[...card.querySelectorAll<HTMLElement>('[data-field=gain_us], [data-field^="evidence."]')].map(
        (one) => `${one.dataset['field']} ${one.dataset['value']}`,
      ),
    ]),
  }))
}

/** What the Overview says otherwise than `diagnose`: its sentence, its findings in their order, and their numbers. */
export async function concludes(app: App, run: Run): Promise<readonly object[]> {
  const { data } = await app.api<{
    data: { verdict: { finding: string | null; sentence: { en: string } }; findings: readonly Finding[] }
  }>(`run/${run.id}/diagnose`)
  const expected = {
    sentence: data.verdict.sentence.en,
    findings: data.findings.map((one) => [
      one.id,
      one.severity,
      one.title.en,
      ...(one.gain_us === null || savesOnlyTogether(one) ? [] : [`gain_us ${one.gain_us}`]),
      ...one.evidence.map(({ metric, value }) => `evidence.${metric} ${value}`),
    ]),
  }
  // The network may be quiet for a moment before the page has asked for everything.
  const isSaid = (): boolean => JSON.stringify(shown) === JSON.stringify(expected)
  let shown = await conclusions(app)
  for (const end = Date.now() + PATIENCE_MS; !isSaid() && Date.now() < end; shown = await conclusions(app))
    await app.page.waitForTimeout(LOOK_MS)
  const faults: object[] = []
  if (!isSaid()) faults.push({ run: run.name, shown, expected })
  // The sentence is about the first finding, wherever something accuses.
  if (data.verdict.finding !== null && data.verdict.finding !== data.findings[0]?.id)
    faults.push({ run: run.name, verdict: data.verdict.finding, first: data.findings[0]?.id })
  return faults
}
