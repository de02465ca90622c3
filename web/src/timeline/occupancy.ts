// What a kernel's arguments say about how it fills the device, under the names that PyTorch writes.
import type { PlainKey } from '../i18n/language.svelte'

const FIELDS: readonly (readonly [name: string, label: PlainKey])[] = [
  ['est. achieved occupancy %', 'timeline.occupancy'],
  ['warps per SM', 'timeline.warps_per_sm'],
  ['blocks per SM', 'timeline.blocks_per_sm'],
  ['grid', 'timeline.grid'],
  ['block', 'timeline.block'],
  ['registers per thread', 'timeline.registers'],
  ['shared memory', 'timeline.shared_memory'],
]

type Arguments = readonly (readonly [string, unknown])[] | readonly (readonly unknown[])[]

export function occupancyOf(given: Arguments): readonly (readonly [PlainKey, number | string])[] {
  return FIELDS.flatMap(([name, label]): (readonly [PlainKey, number | string])[] => {
    const value = given.find((entry) => entry[0] === name)?.[1]
    if (typeof value === 'number') return [[label, value]]
    return Array.isArray(value) ? [[label, value.join(' × ')]] : []
  })
}
