import { expect, test } from 'vitest'
import { acceptsHtmlFirst } from './accepts-html.ts'

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
