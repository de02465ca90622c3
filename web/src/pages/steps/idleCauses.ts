// Why a device was idle: the causes in their order, each with a colour that means nothing else.
import type { IdleByCause } from '../../api/schema'

export interface IdleCause {
  readonly field: keyof IdleByCause
  /** Its name in the catalogue and in `launches`. */
  readonly name: string
  readonly colour: string
  /** The page that tells more. */
  readonly page: string
}

const cause = (name: string, page = 'timeline'): IdleCause => ({
  field: `${name}_us` as keyof IdleByCause,
  name,
  colour: `--idle-${name}`,
  page,
})

export const IDLE_CAUSES: readonly IdleCause[] = [
  cause('data', 'data'),
  cause('host'),
  cause('sync'),
  cause('gc'),
  cause('collective'),
  cause('dependency'),
  cause('profiler'),
  cause('unknown'),
]
