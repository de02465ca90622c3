// One truth: every number that a page shows is the number of the analysis, under the same name.
import type { Page } from '@playwright/test'
import { expect, test, type App } from './fixtures'
import { REAL } from './realCaptures'

/** Pages, and parameters of the address that bring tables of theirs into sight. */
const PLACES = [
  'overview',
  'steps',
  'operators',
  'operators?by=kernel&lane=all',
  'data',
  'cpu',
  'memory',
  'memory?tab=leaks&sites=all',
  'memory?tab=steps',
  'memory?tab=spaces',
] as const
const OWN = ['job', 'host', 'interval', 'slow', 'gaps', 'leaky', 'loader_1_20231114221320000_ascend_pt'] as const

type Values = Readonly<Record<string, string>>
interface Shown {
  /** The list of the answer that it is of, such as `pipeline.ops`. */
  readonly question: string
  readonly values: Values
}

/** Whatever says that it is a field of an answer, row by row. */
function shownOn(page: Page): Promise<readonly Shown[]> {
  return page.evaluate(() => {
    const fields = (element: Element): [string, string][] =>
      [...element.querySelectorAll<HTMLElement>('[data-field][data-value]')].map((one) => [
        one.dataset['field'] ?? '',
        one.dataset['value'] ?? '',
      ])
    return [...document.querySelectorAll<HTMLElement>('[data-question]')].flatMap((element) => {
      const rows = element.getAttribute('role') === 'grid' ? [...element.querySelectorAll('[role=row]')] : [element]
      return rows
        .map((row) => ({ question: element.dataset['question'] ?? '', values: Object.fromEntries(fields(row)) }))
        .filter(({ values }) => Object.keys(values).length > 0)
    })
  })
}

/** The rows of a list of an answer, asked as the page of this address asks. */
async function rowsOf(app: App, run: string, question: string, params: URLSearchParams): Promise<readonly unknown[]> {
  const [name = '', ...path] = question.split('.')
  const query = new URLSearchParams({ integers: 'text', rank: '0' })
  if (name === 'operators')
    for (const key of ['by', 'lane']) query.set(key, params.get(key) ?? { by: 'type', lane: 'compute' }[key] ?? '')
  const answer = await app.api<{ data: unknown }>(`run/${run}/${name}?${query.toString()}`)
  const list = path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], answer.data)
  return Array.isArray(list) ? list : [list]
}

/** Whether a row of the answer has all the values that are shown, under the names they are shown with. */
function says(row: unknown, values: Values): boolean {
  return Object.entries(values).every(([field, value]) => {
    const known = field.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | null)?.[key], row)
    return known !== null && known !== undefined && (String(known) === value || Number(known) === Number(value))
  })
}

interface Finding {
  readonly id: string
  readonly title: { en: string }
  readonly gain_us: number | null
  readonly evidence: readonly { metric: string; value: number }[]
}

for (const name of [...OWN, ...REAL.map((one) => one.name)]) {
  test(`pages of ${name} show the numbers of the analyses under their names`, async ({ app, page }) => {
    test.setTimeout(300_000)
    app.refusals = true
    const run = await app.run(name)
    const wrong: unknown[] = []
    let compared = 0
    for (const place of PLACES) {
      const [path, query = ''] = place.split('?')
      const params = new URLSearchParams(query)
      params.set('rank', '0')
      await app.open(`/run/${run.id}/${path}?${params.toString()}`)
      await page.waitForLoadState('networkidle')
      const answers = new Map<string, readonly unknown[]>()
      for (const { question, values } of await shownOn(page)) {
        const rows = answers.get(question) ?? (await rowsOf(app, run.id, question, params))
        answers.set(question, rows)
        compared += Object.keys(values).length
        if (!rows.some((row) => says(row, values))) wrong.push({ place, question, values })
      }
    }
    expect(wrong).toEqual([])
    expect(compared).toBeGreaterThan(0)
  })

  test(`the overview of ${name} concludes what diagnose concludes`, async ({ app, page }) => {
    const run = await app.run(name)
    const { data } = await app.api<{ data: { verdict: { sentence: { en: string } }; findings: readonly Finding[] } }>(
      `run/${run.id}/diagnose`,
    )
    await app.open(`/run/${run.id}/overview`)
    await expect(page.getByRole('region', { name: 'Verdict' })).toContainText(data.verdict.sentence.en)
    const cards = page.locator('[data-finding]')
    await expect(cards).toHaveCount(data.findings.length)
    for (const [index, finding] of data.findings.entries()) {
      const card = cards.nth(index)
      await expect(card).toHaveAttribute('data-finding', finding.id)
      await expect(card).toContainText(finding.title.en)
      if (finding.gain_us !== null)
        await expect(card.locator('[data-field=gain_us]')).toHaveAttribute('data-value', String(finding.gain_us))
      for (const { metric, value } of finding.evidence)
        await expect(card.locator(`[data-field="evidence.${metric}"][data-value="${value}"]`).first()).toBeAttached()
    }
  })
}
