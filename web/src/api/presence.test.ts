import { expect, test } from 'vitest'
import { presenceQuery } from './presence'

test('one row of the rank in any of the tables is enough', () => {
  expect(presenceQuery(3, [['memory'], ['slices', "kind = 'kernel'"]])).toBe(
    "SELECT EXISTS (SELECT 1 FROM memory WHERE rank = 3) OR EXISTS (SELECT 1 FROM slices WHERE rank = 3 AND kind = 'kernel') AS there",
  )
})
