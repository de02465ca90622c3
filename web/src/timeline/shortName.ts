// Names for reading: of a C++ kernel its function and what it applies, without namespaces, arguments and types.

/** A name with its template arguments, if it is a C++ function at all. */
const FUNCTION = /^(?:void |static |__global__ )*(.*)$/s
/** What an elementwise kernel applies: without it, all of them read alike. */
const APPLIED = /\b(?:\w+::)*(\w*(?:[Ff]unctor|Op|_op)\w*)\b/

/** The name that a label has room for; whole names stay in details, tooltips and copies. */
export function shortName(name: string): string {
  if (!isFunction(name)) return name
  const plain = (FUNCTION.exec(name)?.[1] ?? name).replaceAll('(anonymous namespace)::', '')
  const cut = plain.search(/[<(]/)
  const own = (cut < 0 ? plain : plain.slice(0, cut)).split('::').at(-1)?.trim() ?? ''
  if (own === '' || !/^[\w~ ]+$/.test(own)) return name
  const applied = cut >= 0 && plain[cut] === '<' ? APPLIED.exec(plain.slice(cut))?.[1] : undefined
  return applied === undefined || applied === own ? own : `${own}<${applied}>`
}

function isFunction(name: string): boolean {
  if (/\.py\(\d+\)/.test(name)) return false
  if (name.startsWith('void ') || name.includes('(anonymous namespace)::')) return true
  return /^[\w:]+<.*>\(?.*\)?$/s.test(name) || /^[A-Za-z_]\w*\([^()]*<[^()]*\)$/.test(name)
}
