import { type Block, type DocPage, pagesByReader, plainText } from '../../knowledge/index.ts'
import { escapeHtml, trusted } from '../html.ts'
import type { Page } from '../layout.ts'

/** A page of the documentation. @param names of all pages, which links may lead to */
export function docsPage(page: DocPage, names: readonly string[]): Page {
  const sections = page.blocks.filter((block) => block.kind === 'heading' && block.level === 2)
  const contents = sections.flatMap((block) =>
    block.kind === 'heading'
      ? [`<li>${link(`#${block.anchor}`, escapeHtml(plainText(block.text)))}</li>`]
      : [],
  )
  const body = page.blocks.map((block) => blockHtml(block, names))
  // Behind the title, which is the first block.
  if (contents.length > 2)
    body.splice(1, 0, `<details><summary>On this page</summary><ul>${contents.join('')}</ul></details>`)
  return htmlPage(page.title, `<p class="dim">${link('/docs', 'Documentation')}</p>\n${body.join('\n')}`)
}

/** The list of all pages by their readers, each with the sentence that it begins with. */
export function docsIndexPage(pages: readonly DocPage[]): Page {
  const row = ({ name, title, blocks }: DocPage): string => {
    const first = blocks.find((block) => block.kind === 'paragraph')
    const about = first === undefined ? '' : (plainText(first.text).split(/(?<=\.)\s/)[0] ?? '')
    return `<li>${link(`/docs/${name}`, escapeHtml(title))} <span class="dim">${escapeHtml(about)}</span></li>`
  }
  const groups = pagesByReader(pages).map(
    ({ reader, pages: read }) => `<h2>${escapeHtml(reader)}</h2>\n<ul>${read.map(row).join('\n')}</ul>`,
  )
  return htmlPage(
    'Documentation',
    `<h1>Documentation</h1>\n<p class="dim">Information, not advice. Every operation with its fields is described at ${link('/openapi.json', '/openapi.json')}.</p>\n${groups.join('\n')}`,
  )
}

const htmlPage = (title: string, body: string): Page => ({ title, at: '/docs', body: trusted(body) })

function blockHtml(block: Block, names: readonly string[]): string {
  const inline = (text: string): string => inlineHtml(text, names)
  if (block.kind === 'paragraph') return `<p>${inline(block.text)}</p>`
  if (block.kind === 'code') return `<pre tabindex="0"><code>${escapeHtml(block.text)}</code></pre>`
  if (block.kind === 'list') {
    const items = block.items.map((item) => `<li>${inline(item)}</li>`).join('\n')
    return block.isOrdered ? `<ol>${items}</ol>` : `<ul>${items}</ul>`
  }
  if (block.kind === 'heading') {
    const { anchor, level, text } = block
    const inside = level === 1 ? inline(text) : link(`#${anchor}`, escapeHtml(plainText(text)))
    return `<h${level} id="${escapeHtml(anchor)}">${inside}</h${level}>`
  }
  const head = block.header.map((cell) => `<th scope="col">${inline(cell)}</th>`).join('')
  const rows = block.rows.map(
    (cells) => `<tr>${cells.map((cell) => `<td>${inline(cell)}</td>`).join('')}</tr>`,
  )
  return `<div class="scroll" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
}

/** Code, links, bold text and emphasis, in this order: what is code is nothing else. */
const INLINE = /`([^`]+)`|\[([^\]\n]*)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|(?<![\w*])\*([^\s*][^*\n]*)\*(?![\w*])/g

function inlineHtml(text: string, names: readonly string[]): string {
  let html = ''
  let at = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, label, target, bold, emphasis] = match
    html += escapeHtml(text.slice(at, match.index))
    if (code !== undefined) html += `<code>${escapeHtml(code)}</code>`
    else if (bold !== undefined) html += `<strong>${inlineHtml(bold, names)}</strong>`
    else if (emphasis !== undefined) html += `<em>${inlineHtml(emphasis, names)}</em>`
    else html += linkHtml(label ?? '', target ?? '', names)
    at = match.index + whole.length
  }
  return html + escapeHtml(text.slice(at))
}

/** A link to a page, a place on this page or an address elsewhere; what leads nowhere here stays as its text. */
function linkHtml(label: string, target: string, names: readonly string[]): string {
  // In a folder pages are named as files are; here they are no files.
  const text = inlineCode(label.replace(/^(`?[a-z0-9-]+)\.md(?=`?$)/, '$1'))
  if (target.startsWith('#') || /^https?:\/\//.test(target)) return link(target, text)
  const [, name, anchor = ''] = /^(?:\.\/)?([a-z0-9-]+)\.md(#.*)?$/.exec(target) ?? []
  const [, example] = /^(?:\.\/)?(examples\/[a-z0-9-]+\.(?:py|ts))$/.exec(target) ?? []
  if (example !== undefined) return link(`/docs/${example}`, text)
  return name !== undefined && names.includes(name) ? link(`/docs/${name}${anchor}`, text) : text
}

const inlineCode = (label: string): string => escapeHtml(label).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

const link = (target: string, html: string): string => `<a href="${escapeHtml(target)}">${html}</a>`
