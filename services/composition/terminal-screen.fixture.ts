const ESCAPE = '\u001B'
const PARTS = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z]|[78])|[\\n\\r]|[^${ESCAPE}\\n\\r]+`, 'g')

/** A terminal as far as the service uses one (ECMA-48): rows that scroll within a range, and a cursor that is set. */
export class Screen {
  readonly rows: number
  readonly lines: string[]
  /** Lines that scrolled out at the top. */
  readonly gone: string[] = []
  #row = 0
  #column = 0
  #saved = [0, 0] as [number, number]
  #bottom: number

  constructor(rows: number) {
    this.rows = rows
    this.lines = Array.from({ length: rows }, () => '')
    this.#bottom = rows
  }

  write(text: string): void {
    for (const [part] of text.matchAll(PARTS)) this.#take(part)
  }

  get shown(): string[] {
    return this.lines.map((line) => line.trimEnd())
  }

  #take(part: string): void {
    if (part === '\n') this.#newLine()
    else if (part === '\r') this.#column = 0
    else if (part === '\u001B7') this.#saved = [this.#row, this.#column]
    else if (part === '\u001B8') [this.#row, this.#column] = this.#saved
    else if (part.startsWith('\u001B[')) this.#control(part.slice(2, -1), part.at(-1) ?? '')
    else {
      const line = (this.lines[this.#row] ?? '').padEnd(this.#column)
      this.lines[this.#row] = line.slice(0, this.#column) + part + line.slice(this.#column + part.length)
      this.#column += part.length
    }
  }

  #control(given: string, kind: string): void {
    const [first = 1, second = 1] = given.split(';').map((number) => Number(number) || 1)
    if (kind === 'A') this.#row = Math.max(0, this.#row - first)
    else if (kind === 'H') [this.#row, this.#column] = [first - 1, second - 1]
    else if (kind === 'K') this.lines[this.#row] = ''
    else if (kind === 'J') this.lines.fill('', this.#row)
    else if (kind === 'r') {
      this.#bottom = given === '' ? this.rows : second
      ;[this.#row, this.#column] = [0, 0]
    } else throw new Error(`a terminal is sent ESC [ ${given} ${kind}`)
  }

  #newLine(): void {
    this.#column = 0
    if (this.#row + 1 !== this.#bottom) {
      this.#row = Math.min(this.#row + 1, this.rows - 1)
      return
    }
    this.gone.push(this.lines[0] ?? '')
    this.lines.splice(0, 1)
    this.lines.splice(this.#bottom - 1, 0, '')
  }
}
