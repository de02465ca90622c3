import { afterEach, expect, test } from 'vitest'
import { explainedBy } from './explained'

afterEach(() => document.body.replaceChildren())

function target(html: string): Element {
  document.body.innerHTML = html
  return document.body.querySelector('#it') as Element
}

test('a number names its question and the path of its field', () => {
  const it = target(
    '<div data-question="summary.ranks?of=all"><b id="it" data-field="idle_us" data-value="3">3 µs</b></div>',
  )
  expect(explainedBy({ target: it, altKey: false })).toEqual({
    question: 'summary',
    field: 'ranks.idle_us',
    value: '3',
    text: '3 µs',
  })
})

test('a number that is made of a field is explained by it, as the page writes it', () => {
  const it = target('<b id="it" data-field="evidence.idle_share" data-value="0.2" data-explain="steps.idle_us">20%</b>')
  const explained = { question: 'steps', field: 'idle_us', value: '20%', text: '20%' }
  expect(explainedBy({ target: it, altKey: false })).toEqual(explained)
})

test('where a click means something else, only Alt explains', () => {
  const it = target('<a data-question="steps"><b id="it" data-field="period_us" data-value="3">3</b></a>')
  expect(explainedBy({ target: it, altKey: false })).toBeNull()
  expect(explainedBy({ target: it, altKey: true })?.field).toBe('period_us')
})

test('a text without a number of an answer is not explained', () => {
  expect(explainedBy({ target: target('<p id="it">no</p>'), altKey: true })).toBeNull()
  expect(explainedBy({ target: target('<b id="it" data-field="x" data-value="1">1</b>'), altKey: true })).toBeNull()
})
