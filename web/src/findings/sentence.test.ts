import { expect, test } from 'vitest'
import { partsOfSentence } from './sentence'

test('a sentence is cut behind what is wrong', () => {
  expect(partsOfSentence('Rank 2 is slow. Fixing it saves 5 ms.', 'Rank 2 is slow')).toEqual({
    what: 'Rank 2 is slow.',
    gain: ' Fixing it saves 5 ms.',
  })
  expect(partsOfSentence('rank 2 慢。解决后可缩短 5 ms。', 'rank 2 慢')).toEqual({
    what: 'rank 2 慢。',
    gain: '解决后可缩短 5 ms。',
  })
  expect(partsOfSentence('Suspected: Rank 2 is slow. Fixing it saves 5 ms.', 'Rank 2 is slow').what).toBe(
    'Suspected: Rank 2 is slow.',
  )
})

test('a sentence without a gain, or about something else, stays whole', () => {
  for (const [sentence, title] of [
    ['Memory ran out.', 'Memory ran out'],
    ['No problem found.', ''],
    ['Something else.', 'Rank 2 is slow'],
  ] as const)
    expect(partsOfSentence(sentence, title)).toEqual({ what: sentence, gain: '' })
})
