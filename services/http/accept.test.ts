import accepts from '@fastify/accepts'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { acceptedCoding, acceptsHtmlFirst, acceptsJson } from './accept.ts'

const app = fastify()
await app.register(accepts)
app.get('/', async (request) => ({
  isHtml: acceptsHtmlFirst(request),
  isJson: acceptsJson(request),
  coding: acceptedCoding(request),
}))

/** The findings for a request with these headers. */
async function accepted(headers: Readonly<Record<string, string | undefined>>) {
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return (await app.inject({ url: '/', headers: Object.fromEntries(given) })).json()
}

test.each([
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
  ['text/html', true],
  ['TEXT/HTML;Q=0.4, application/json;q=0.3', true],
  ['text/*;q=0.9, application/json;q=0.5', true],
  ['*/*', false],
  ['application/json', false],
  ['application/json, text/html', false],
  ['text/html;q=0.5, application/json', false],
  ['text/html;q=0, */*', false],
  ['text/html;q=many', false],
  ['image/png', false],
  ['', false],
  [undefined, false],
])('Accept: %s', async (accept, isHtml) => {
  expect(await accepted({ accept })).toMatchObject({ isHtml })
})

test.each([
  [undefined, true],
  ['*/*', true],
  ['application/json', true],
  ['APPLICATION/JSON', true],
  ['application/json, text/event-stream', true],
  ['text/event-stream, application/json;q=0.1', true],
  ['text/html, application/*;q=0.5', true],
  ['text/html,*/*;q=0.8', true],
  ['text/event-stream', false],
  ['text/html', false],
  ['application/json;q=0', false],
  ['application/json;q=0, */*', false],
  ['application/json; q=0.000', false],
  ['*/*;q=0', false],
  ['application/jsonp', false],
])('Accept of MCP: %s', async (accept, isJson) => {
  expect(await accepted({ accept })).toMatchObject({ isJson })
})

test.each([
  [undefined, undefined],
  ['*', undefined],
  ['identity', undefined],
  ['gzip;q=0', undefined],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'gzip'],
  ['gzip;q=0.5, zstd', 'zstd'],
  ['gzip;q=0.5, identity;q=0.8', undefined],
])('Accept-Encoding: %s', async (encoding, coding) => {
  expect((await accepted({ 'accept-encoding': encoding })).coding).toBe(coding)
})
