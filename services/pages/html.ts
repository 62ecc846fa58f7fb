/** Text that is HTML already: only {@link html} makes it. */
export class Html {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

/** A part of a page: text is escaped, HTML stays as it is, and an absent part shows nothing. */
export type Content = Html | string | number | null | undefined | false | readonly Content[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text that is safe in an element and in a quoted attribute. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '')

function textOf(value: Content): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return String(value)
  return typeof value === 'object' ? value.map(textOf).join('') : escapeHtml(String(value))
}

/**
 * A piece of a page. What is put in is escaped, so attributes have to be quoted.
 *
 * @example html`<a href="/docs/${name}">${title}</a>`
 */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html =>
  new Html(strings.map((text, index) => text + textOf(values[index])).join(''))

/** HTML that other code has made and escaped. */
export const trusted = (text: string): Html => new Html(text)
