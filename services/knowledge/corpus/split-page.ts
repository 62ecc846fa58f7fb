import { type Block, plainText } from '../markdown/parse-markdown.ts'
import type { DocPage } from './read-pages.ts'

/** A section of a page: what is found, quoted and cited. */
export interface Section {
  /** Page and section, as in `quotas#how-many-calls-are-there`. */
  readonly id: string
  readonly page: string
  readonly anchor: string
  readonly pageTitle: string
  /** Headings that the section stands under, without the page's title; empty before the first. */
  readonly heading: string
  /** Whether its page is one to look things up in. */
  readonly isReference: boolean
  /** In the order of the page. */
  readonly blocks: readonly Block[]
}

/** The sections of a page. One that holds nothing, because others stand under it, is left out. */
export function splitPage({ name: page, title: pageTitle, isReference, blocks: all }: DocPage): Section[] {
  const sections: Section[] = []
  let path: { readonly level: number; readonly text: string }[] = []
  let anchor = ''
  let blocks: Block[] = []
  const close = (): void => {
    if (blocks.length === 0) return
    const heading = path.map(({ text }) => text).join(' – ')
    sections.push({ id: `${page}#${anchor}`, page, anchor, pageTitle, heading, isReference, blocks })
    blocks = []
  }
  for (const block of all) {
    if (block.kind !== 'heading') {
      blocks.push(block)
      continue
    }
    close()
    anchor = block.anchor
    const { level } = block
    path =
      level === 1 ? [] : [...path.filter((one) => one.level < level), { level, text: plainText(block.text) }]
  }
  close()
  return sections
}

/** Whether a block announces the next one. */
export const introduces = (block: Block | undefined): boolean =>
  block?.kind === 'paragraph' && block.text.endsWith(':')
