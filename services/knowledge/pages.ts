import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { type Asked, NOTHING_ASKED, readAsked } from './asked.ts'
import { type Block, parseMarkdown, plainText } from './markdown.ts'

/** A page of the documentation. */
export interface DocPage {
  /** Name of its file, without `.md`. */
  readonly name: string
  /** Its first heading, without marks. */
  readonly title: string
  readonly blocks: readonly Block[]
  /** As its author wrote it. */
  readonly markdown: string
}

/** Names that pages may have; other files of the folder are no pages. */
const PAGE_FILE = /^([a-z0-9][a-z0-9-]{0,63})\.md$/
/** Wordings of questions; a folder without it is read as well. */
const ASKED_FILE = 'asked.txt'

/**
 * Reads the pages of a folder and the wordings of questions. Decision records and examples are in folders of their own
 * and are not read.
 *
 * @throws ServiceError `internal_error` if there are more or larger pages than {@link LIMITS} allows
 */
export async function readPages(folder: string): Promise<{ pages: DocPage[]; asked: Asked }> {
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
  const names = files.flatMap((entry) => PAGE_FILE.exec(entry.name)?.[1] ?? []).toSorted()
  if (names.length > LIMITS.docsPages) {
    throw new ServiceError('internal_error', {
      message: `${folder} has ${names.length} pages; the limit is ${LIMITS.docsPages}`,
    })
  }
  const pages = await Promise.all(
    names.map(async (name) => docPage(name, await readBounded(join(folder, `${name}.md`)))),
  )
  const hasAsked = files.some(({ name }) => name === ASKED_FILE)
  return { pages, asked: hasAsked ? readAsked(await readBounded(join(folder, ASKED_FILE))) : NOTHING_ASKED }
}

async function readBounded(path: string): Promise<string> {
  const { size } = await stat(path)
  if (size > LIMITS.docsPageBytes) {
    throw new ServiceError('internal_error', {
      message: `${path} has ${size} bytes; the limit is ${LIMITS.docsPageBytes}`,
    })
  }
  return readFile(path, 'utf8')
}

/**
 * A page is parsed on first use, so a start waits for none.
 *
 * @example docPage('quotas', '# Quotas\n\nEvery call counts.').title === 'Quotas'
 */
export function docPage(name: string, markdown: string): DocPage {
  let parsed: readonly Block[] | undefined
  return {
    name,
    get title() {
      const heading = this.blocks.find((block) => block.kind === 'heading')
      return heading === undefined ? name : plainText(heading.text)
    },
    get blocks() {
      return (parsed ??= parseMarkdown(markdown))
    },
    markdown,
  }
}
