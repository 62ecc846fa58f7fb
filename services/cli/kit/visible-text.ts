/** C0 but line ends and tabs, DEL, C1, and the marks that turn the direction of letters around. */
const HIDDEN = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/**
 * Text with each mark that a terminal would obey written out: it moves no cursor, names no window and hides no word.
 *
 * @example visibleText('\u001b[2K') // '\\u001b[2K'
 */
export const visibleText = (text: string): string =>
  text.replaceAll(HIDDEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A stream whose texts become visible: logs, services and files of others have their words in them. Bytes pass as they are. */
export const visibleStream = <Stream extends NodeJS.WritableStream>(stream: Stream): Stream =>
  new Proxy(stream, {
    get(target, name) {
      if (name === 'write')
        return (text: string | Uint8Array, ...rest: never[]) =>
          target.write(typeof text === 'string' ? visibleText(text) : text, ...rest)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
