// The one place that talks to the server. All addresses are relative to the page, so proxies need no configuration.
import { language } from '../i18n/language.svelte'
import { connection } from '../state/connection.svelte'
import { ApiError, isAborted, type ErrorBody } from './errors'

export type Query = Readonly<
  Record<string, string | number | boolean | null | undefined | readonly (string | number)[]>
>

/** A JSON document. */
export async function getJson<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await send(apiUrl(path, query), { signal: signal ?? null })
  return (await response.json()) as T
}

/** The answer to a JSON body, as JSON. */
export async function postJson<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(apiUrl(path), jsonBody(body, signal))
  return (await response.json()) as T
}

/** Keep a JSON body on the server; what is kept there now comes back. */
export async function putJson<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(apiUrl(path), { ...jsonBody(body, signal), method: 'PUT' })
  return (await response.json()) as T
}

/** The answer to a JSON body, as bytes. */
export async function postForBytes(path: string, body: unknown, signal?: AbortSignal): Promise<ArrayBuffer> {
  const response = await send(apiUrl(path), jsonBody(body, signal))
  return response.arrayBuffer()
}

/** Send a file as it is. */
export async function upload<T>(path: string, file: File, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const headers = { 'Content-Type': 'application/octet-stream' }
  const response = await send(apiUrl(path, query), { method: 'POST', headers, body: file, signal: signal ?? null })
  return (await response.json()) as T
}

export async function remove(path: string, query: Query = {}): Promise<void> {
  await send(apiUrl(path, query), { method: 'DELETE' })
}

/** `api/<path>?…` relative to the page; lists repeat their name. */
export function apiUrl(path: string, query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue
    if (Array.isArray(value)) for (const item of value) search.append(name, String(item))
    else search.set(name, String(value))
  }
  const text = search.toString()
  return `api/${path}${text ? `?${text}` : ''}`
}

function jsonBody(body: unknown, signal?: AbortSignal): RequestInit {
  return {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal: signal ?? null,
  }
}

async function send(url: string, init: RequestInit): Promise<Response> {
  const headers = {
    ...(init.headers as Record<string, string> | undefined),
    'Accept-Language': language.current,
    // "This capture cannot tell" is an answer: as a refusal the browser would log it as an error of the page.
    'Stepscope-No-Answer': 'ok',
  }
  let response: Response
  try {
    response = await fetch(url, { ...init, headers })
  } catch (error) {
    if (isAborted(error)) throw error
    connection.lost()
    throw new ApiError(0, { code: 'server_gone', params: {}, hint: null, message: null })
  }
  connection.found()
  const fault = response.headers.get('Stepscope-Fault')
  if (!response.ok || fault !== null) throw new ApiError(Number(fault ?? response.status), await errorBody(response))
  return response
}

async function errorBody(response: Response): Promise<ErrorBody> {
  try {
    const body = (await response.json()) as Partial<ErrorBody>
    return {
      code: body.code ?? `http_${response.status}`,
      params: body.params ?? {},
      hint: body.hint ?? null,
      message: body.message ?? null,
    }
  } catch {
    return { code: `http_${response.status}`, params: {}, hint: null, message: response.statusText || null }
  }
}
