// Writes src/api/schema.ts: a TypeScript type for every schema of the server's OpenAPI description.
//   npm run api -- http://127.0.0.1:8080/api/openapi.json      (or a file; --check only compares)
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'

const target = fileURLToPath(new URL('../src/api/schema.ts', import.meta.url))
const check = process.argv.includes('--check')
const source = process.argv.slice(2).find((argument) => !argument.startsWith('--'))
if (!source) throw new Error('Name the address or the file of an OpenAPI description.')

const text = /^https?:/.test(source) ? await (await fetch(source)).text() : readFileSync(source, 'utf8')
const schemas = JSON.parse(text).components.schemas
const written = await format(moduleOf(schemas), { ...(await resolveConfig(target)), filepath: target })
if (!check) writeFileSync(target, written)
else if (readFileSync(target, 'utf8') !== written)
  throw new Error('src/api/schema.ts is older than the server: npm run api')

function moduleOf(all) {
  const lines = [
    '// Made from the server’s OpenAPI description by scripts/make-api-types.mjs; do not edit by hand.',
    '',
  ]
  for (const name of Object.keys(all).toSorted()) {
    const schema = all[name]
    if (schema.description)
      lines.push(`/** ${schema.description.replaceAll('``', '`').replaceAll(/\s*\n\s*/g, ' ')} */`)
    const body = typeOf(schema)
    lines.push(
      body.startsWith('{')
        ? `export interface ${identifier(name)} ${body}`
        : `export type ${identifier(name)} = ${body}`,
      '',
    )
  }
  return lines.join('\n')
}

function typeOf(schema) {
  if (schema === true || schema === undefined) return 'unknown'
  if (schema.$ref) return identifier(schema.$ref.split('/').at(-1))
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return union(choices.map(typeOf))
  if (schema.allOf) return schema.allOf.map(typeOf).join(' & ')
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type })))
  if (schema.type === 'array') return arrayOf(schema)
  if (schema.type === 'object') return objectOf(schema)
  return (
    { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[schema.type] ??
    'unknown'
  )
}

function arrayOf(schema) {
  if (schema.prefixItems) return `readonly [${schema.prefixItems.map(typeOf).join(', ')}]`
  const item = typeOf(schema.items)
  return `readonly ${/[ |&]/.test(item) ? `(${item})` : item}[]`
}

function objectOf(schema) {
  if (!schema.properties) return `Readonly<Record<string, ${typeOf(schema.additionalProperties)}>>`
  const required = new Set(schema.required ?? [])
  const fields = Object.entries(schema.properties).map(
    ([name, field]) =>
      `readonly ${/^\w+$/.test(name) ? name : JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${typeOf(field)}`,
  )
  return `{ ${fields.join('\n')} }`
}

function union(types) {
  return [...new Set(types)].join(' | ')
}

function identifier(name) {
  return name.replaceAll(/\W+/g, '_')
}
