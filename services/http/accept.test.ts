import { expect, test } from 'vitest'
import { acceptsHtmlFirst, acceptsJson } from './accept.ts'

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
])('Accept: %s', (accept, isHtml) => {
  expect(acceptsHtmlFirst(accept)).toBe(isHtml)
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
  ['', false],
  ['text/event-stream', false],
  ['text/html', false],
  ['application/json;q=0', false],
  ['application/json;q=0, */*', false],
  ['application/json; q=0.000', false],
  ['*/*;q=0', false],
  ['application/jsonp', false],
])('Accept of MCP: %s', (accept, isAccepted) => {
  expect(acceptsJson(accept)).toBe(isAccepted)
})
