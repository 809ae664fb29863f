import type { DocumentNode, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { type DeprecatedFields, deprecatedFieldsOf } from './deprecated-fields.ts'
import type { PersistedOperations } from './persisted-operations.ts'

/** The number of documents that are kept in addition to persisted ones: any client can send some. */
const KEPT_DOCUMENTS = 100
const KEPT_BYTES = 16 * 1024 * 1024
/** Memory for a token, with its share of nodes and faults. */
const TOKEN_BYTES = 512

/** Parsed documents by their text: persisted ones permanently, others up to a number and a weight. */
export class KeptDocuments {
  /** The caches of Yoga's own plugin, which parses and validates documents that are not here yet. */
  readonly errorCache = new LRUCache<string, GraphQLError>({
    max: KEPT_DOCUMENTS,
    maxSize: KEPT_BYTES,
    sizeCalculation: (_error, text) => 2 * text.length + TOKEN_BYTES,
  })
  /** Records which documents passed all validation rules of Yoga, and what deprecated fields they select. */
  readonly plugin: Plugin = {
    onValidate:
      ({ params: { documentAST, schema } }) =>
      ({ valid }) => {
        if (!valid || this.valid.has(documentAST)) return
        this.valid.add(documentAST)
        const found = deprecatedFieldsOf(schema, documentAST)
        if (found.size > 0) this.deprecated.set(documentAST, found)
      },
  }
  private readonly texts: ReadonlySet<string>
  private readonly persisted = new Map<string, DocumentNode>()
  private readonly others = new LRUCache<string, DocumentNode>({
    max: KEPT_DOCUMENTS,
    maxSize: KEPT_BYTES,
    sizeCalculation: (document, text) => 2 * text.length + TOKEN_BYTES * tokensOf(document),
  })
  private readonly valid = new WeakSet<DocumentNode>()
  /** Those of documents that select some. */
  private readonly deprecated = new WeakMap<DocumentNode, DeprecatedFields>()

  constructor(operations: PersistedOperations) {
    this.texts = new Set(operations.values())
  }

  get(text: string): DocumentNode | undefined {
    return this.persisted.get(text) ?? this.others.get(text)
  }

  set(text: string, document: DocumentNode): void {
    if (this.texts.has(text)) this.persisted.set(text, document)
    else this.others.set(text, document)
  }

  /** A valid document; undefined for an unknown or invalid one. */
  getValid(text: string): DocumentNode | undefined {
    const document = this.get(text)
    return document && this.valid.has(document) ? document : undefined
  }

  /** The deprecated fields of a valid document. Undefined for one that selects none. */
  deprecatedIn(document: DocumentNode): DeprecatedFields | undefined {
    return this.deprecated.get(document)
  }
}

function tokensOf({ loc }: DocumentNode): number {
  let count = 1
  for (let token = loc?.startToken; token?.next; token = token.next) count += 1
  return count
}
