// The sentence of the verdict in two parts: what is wrong, and what mending it would gain.
export interface SentenceParts {
  readonly what: string
  /** Begins with the space that stands before it; empty where the sentence says no more than what is wrong. */
  readonly gain: string
}

/** Cut behind the title of the finding, which the sentence contains; the parts joined are the sentence. */
export function partsOfSentence(sentence: string, title: string): SentenceParts {
  const at = title === '' ? -1 : sentence.indexOf(title)
  if (at < 0) return { what: sentence, gain: '' }
  const rest = sentence.slice(at + title.length)
  const stop = /^[.。]/.test(rest) ? 1 : 0
  if (rest.slice(stop).trim() === '') return { what: sentence, gain: '' }
  const cut = at + title.length + stop
  return { what: sentence.slice(0, cut), gain: sentence.slice(cut) }
}
