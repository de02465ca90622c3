// The value of a curve in the unit that its name ends with; bytes are written as bytes everywhere.
import { bytes, plain } from '../format/units'

export function counterText(name: string, value: number | null): string {
  return value !== null && name.endsWith('(B)') ? bytes(value) : plain(value)
}
