// The tooltip of a table column, from the server's own list of meanings.
import { meanings } from './meanings.svelte'

/** A property that is only there when the meaning is known: the type of a column does not allow an undefined one. */
export function helpOf(question: string, field: string): { readonly help?: string } {
  const found = meanings.of(question, field)
  return found === undefined ? {} : { help: found }
}
