// Flags: moments with a note. They live in the address, so that a link carries them.

export interface Flag {
  readonly at: number
  readonly note: string
}

const MOST_FLAGS = 60

export function addFlag(flags: readonly Flag[], at: number, note = ''): readonly Flag[] {
  const rounded = Math.round(at)
  if (flags.length >= MOST_FLAGS || flags.some((flag) => flag.at === rounded)) return flags
  return [...flags, { at: rounded, note }].toSorted((a, b) => a.at - b.at)
}

export function removeFlag(flags: readonly Flag[], at: number): readonly Flag[] {
  return flags.filter((flag) => flag.at !== at)
}

export function renameFlag(flags: readonly Flag[], at: number, note: string): readonly Flag[] {
  return flags.map((flag) => (flag.at === at ? { at, note } : flag))
}

/** `12000~first~34000~` : times and notes alternate; the mark itself cannot stand in a note. */
export function flagsToText(flags: readonly Flag[]): string | null {
  if (flags.length === 0) return null
  return flags.map((flag) => `${flag.at}~${flag.note.replaceAll('~', '-')}`).join('~')
}

export function flagsFromText(text: string | undefined): readonly Flag[] {
  const pieces = (text ?? '').split('~')
  let flags: readonly Flag[] = []
  for (let i = 0; i + 1 < pieces.length; i += 2) {
    if (/^-?\d+$/.test(pieces[i] ?? '')) flags = addFlag(flags, Number(pieces[i]), pieces[i + 1] ?? '')
  }
  return flags
}
