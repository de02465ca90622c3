import { expect, test } from 'vitest'
import { planText } from './planText'

test('a plan is written as the command takes it', () => {
  expect(planText({ tp: 8, pp: 4, dp: null }, 'tp-cp-dp-pp')).toBe('tp=8,pp=4')
  expect(planText({ dp: 2, ep: 0 }, 'tp-cp-pp-dp')).toBe('dp=2,order=tp-cp-pp-dp')
  expect(planText({}, 'tp-cp-dp-pp')).toBe('')
})
