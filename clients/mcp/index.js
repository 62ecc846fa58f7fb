#!/usr/bin/env node
// An MCP server on standard input and output. It hands each message to the server that a signal service has at /mcp, and
// hands back what that answers. SIGNAL_URL is the address of the service; SIGNAL_API_KEY may be left out.
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

const { SIGNAL_URL: address = '', SIGNAL_API_KEY: key = '' } = process.env
if (!/^https?:\/\/[^/]/.test(address)) {
  process.stderr.write('Set SIGNAL_URL to the address of the service, such as https://signals.example.com\n')
  process.exit(2)
}
const url = `${address.replace(/\/+$/, '')}/mcp`
const VERSION = 'io.modelcontextprotocol/protocolVersion'
const TRIES = 3
/** How long answers that are under way are waited for after the client has closed its end. */
const LAST_MS = 5_000

/** The revision that the handshake settled on; clients of the stateless revision name theirs in each message. */
let settled
/** Requests that are under way, by their id, and everything that is being passed. */
const asked = new Map()
const passing = new Set()

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const refuse = (id, code, message) => say({ jsonrpc: '2.0', id, error: { code, message } })

/** Headers hold letters of ASCII; other names are written in base64. */
const ascii = (name) =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`

function headersOf({ method, params }, idempotencyKey) {
  const { _meta: meta } = params ?? {}
  const stateless = meta?.[VERSION]
  const version = stateless ?? settled
  const name = params?.name ?? params?.uri
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(key !== '' && { authorization: `Bearer ${key}` }),
    ...(version !== undefined && { 'mcp-protocol-version': version }),
    ...(stateless !== undefined && { 'mcp-method': method }),
    ...(stateless !== undefined && typeof name === 'string' && { 'mcp-name': ascii(name) }),
    ...(method === 'tools/call' && { 'idempotency-key': idempotencyKey }),
  }
}

/** Sends a message; where the connection fails, again, as the same call: it is charged once. */
async function send(message, signal) {
  const headers = headersOf(message, randomUUID())
  const init = { method: 'POST', headers, body: JSON.stringify(message), redirect: 'error', signal }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetch(url, init)
    } catch (error) {
      if (signal.aborted || attempt === TRIES) throw error
      await setTimeout(250 * 2 ** attempt, undefined, { signal })
    }
  }
}

/** Messages of an answer: one, or as many as its stream has. */
async function* messagesOf(response) {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    const text = await response.text()
    if (text !== '') yield JSON.parse(text)
    return
  }
  let rest = ''
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split('\n')
    rest = lines.pop()
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length))
  }
}

async function pass(message) {
  const { id, method } = message
  const stopping = new AbortController()
  if (method === 'notifications/cancelled') asked.get(message.params?.requestId)?.abort()
  if (id !== undefined) asked.set(id, stopping)
  try {
    for await (const answer of messagesOf(await send(message, stopping.signal))) {
      if (id === undefined) continue
      if (method === 'initialize') settled = answer.result?.protocolVersion
      say(answer.id === null ? { ...answer, id } : answer)
    }
  } catch (error) {
    if (stopping.signal.aborted) return
    const why = error.cause?.message ?? error.message
    process.stderr.write(`${method}: no answer from ${url}: ${why}\n`)
    if (id !== undefined) refuse(id, -32_000, `no answer from ${url}: ${why}`)
  } finally {
    if (id !== undefined) asked.delete(id)
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue
  let message
  try {
    message = JSON.parse(line)
  } catch {
    refuse(null, -32_700, 'a line is no JSON')
    continue
  }
  if (typeof message?.method === 'string') {
    const passed = pass(message).finally(() => passing.delete(passed))
    passing.add(passed)
  }
  // Answers to requests of the server: this one makes none.
  else if (message?.id === undefined) refuse(null, -32_600, 'a line is no message')
}
await Promise.race([Promise.all(passing), setTimeout(LAST_MS)])
process.exit(0)
