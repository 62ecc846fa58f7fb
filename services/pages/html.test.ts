import fc from 'fast-check'
import { expect, test } from 'vitest'
import { html } from './html.ts'

test('what is put in is text, whatever it says; pieces and lists of them stay what they are', () => {
  const hostile = '<img src=x onerror="alert(1)">\'&'
  expect(String(html`<p title="${hostile}">${hostile}</p>`)).toBe(
    '<p title="&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;">&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;</p>',
  )
  expect(
    String(html`<ul>${['a', 'b<'].map((one) => html`<li>${one}</li>`)}${undefined}${null}${false}${0}</ul>`),
  ).toBe('<ul><li>a</li><li>b&lt;</li>0</ul>')
})

test('no text opens or ends an element or an attribute', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(String(html`${text}`)).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/)
    }),
    { numRuns: 30 },
  )
})
