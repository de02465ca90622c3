// Which number of which answer was clicked: elements carry the question, the field and the value they show.

export interface Explained {
  readonly question: string
  /** Path of the field within the answer, such as `ranks.period_us`. */
  readonly field: string
  readonly value: string
  /** As the page writes it. */
  readonly text: string
}

/** Where a click has a meaning of its own; there only Alt+click explains. */
const OTHERWISE_USED = 'a, button, summary, label, [role=row], [role=gridcell], [role=option], canvas'

/** The number that a click is on; null where it is on none, or where the click means something else. */
export function explainedBy(event: Pick<MouseEvent, 'target' | 'altKey'>): Explained | null {
  if (!(event.target instanceof Element)) return null
  const number = event.target.closest<HTMLElement>('[data-field][data-value], [data-explain]')
  if (!number || (!event.altKey && event.target.closest(OTHERWISE_USED))) return null
  return explainedNumber(number)
}

export function explainedNumber(number: HTMLElement): Explained | null {
  const text = number.textContent.trim()
  const madeOf = number.dataset['explain']
  if (madeOf !== undefined) {
    // Made of the field, and not its value: it is told as the page writes it.
    const [question = '', ...path] = madeOf.split('.')
    return { question, field: path.join('.'), value: text, text }
  }
  const asked = number.closest<HTMLElement>('[data-question]')?.dataset['question']
  const { field, value } = number.dataset
  if (asked === undefined || field === undefined || value === undefined) return null
  const [question = '', ...path] = (asked.split('?')[0] ?? '').split('.')
  return { question, field: [...path, field].join('.'), value, text }
}
