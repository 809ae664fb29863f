import { createHash, randomBytes } from 'node:crypto'
import {
  chmod,
  chown,
  cp,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { faultOfFiles, StartFault } from './embedded-fault.ts'
import {
  type Binaries,
  codeOf,
  exists,
  findBinaries,
  findIdentity,
  type Home,
  type Identity,
  isAlive,
  messageOf,
  nativeOf,
  reaches,
  restoreLinks,
  run,
  runs,
  USER,
} from './embedded-server.ts'

/** The data directory is not a directory, or is not writable. */
export class DataDirError extends Error {}

export async function openDataDir(dataDir: string): Promise<string> {
  try {
    await makeDirectory(resolve(dataDir))
    // Some file systems, such as /proc, grant access and hold no files.
    await rmdir(await mkdtemp(join(dataDir, '.writable-')))
    return await realpath(dataDir)
  } catch (cause) {
    const fault = await faultOfFiles(cause, dataDir)
    throw fault ?? new DataDirError(`${dataDir} cannot be used as the data directory: ${messageOf(cause)}`, { cause })
  }
}

/** Makes a directory and its parents. Node's own way does not end below /proc. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (codeOf(error) !== 'ENOENT' || (await exists(dirname(path)))) throw error
    await makeDirectory(dirname(path))
    await mkdir(path)
  }
}

export async function readPassword(dataDir: string): Promise<string> {
  const file = join(dataDir, 'postgres-password')
  if (!(await exists(file))) {
    // Written to a draft and linked into place: when several processes start at once, the first password wins, and no
    // process reads half of it.
    const draft = `${file}.${randomBytes(6).toString('hex')}`
    await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o600 })
    await link(draft, file).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    await rm(draft)
  }
  return (await readFile(file, 'utf8')).trim()
}

/** The place of the cluster: in the data directory, unless the user that Postgres runs as cannot reach it. */
export async function findHome(dataDir: string): Promise<Home> {
  const packaged = await findBinaries()
  await restoreLinks(nativeOf(packaged))
  const log = join(dataDir, 'postgres.log')
  const local = join(dataDir, 'postgres')
  if (process.getuid?.() !== 0) return { cluster: local, log, binaries: packaged, identity: undefined }

  const identity = await findIdentity()
  const binaries = (await runs(packaged, identity)) ? packaged : await shelterBinaries(packaged)
  const record = join(dataDir, 'postgres.json')
  const cluster =
    (await readRecord(record, dataDir)) ?? ((await reaches(identity, dataDir)) ? local : await shelterCluster(dataDir))
  // Moved into place as a whole, since another starting process may be reading it.
  const draft = `${record}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${JSON.stringify({ dataDir, cluster })}\n`)
  await rename(draft, record)
  return { cluster, log, binaries, identity }
}

/**
 * The place that was chosen before. It stays valid when permissions have changed since. A record that was copied with
 * its directory does not count, or two data directories would share one cluster.
 */
async function readRecord(file: string, dataDir: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '{}')
  const record = JSON.parse(text) as { dataDir?: string; cluster?: string }
  return record.dataDir === dataDir ? record.cluster : undefined
}

// Other users cannot enter a clone under /root or a temporary directory of root's. Binaries and cluster then live where
// every user may enter, under names that the next start finds again.

async function shelterBinaries(packaged: Binaries): Promise<Binaries> {
  const native = nativeOf(packaged)
  const version = await readFile(join(dirname(native), 'package.json'), 'utf8')
  const shelter = await openShelter(`tierway-binaries-${shortHash(version)}`)
  const copy = join(shelter, 'native')
  if (!(await exists(copy))) {
    const draft = `${copy}.${process.pid}`
    await rm(draft, { recursive: true, force: true })
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
    for (const path of ['', ...(await readdir(draft, { recursive: true }))].map((name) => join(draft, name))) {
      const found = await lstat(path)
      // Under a strict umask only root could read them.
      if (!found.isSymbolicLink()) await chmod(path, found.mode & 0o100 ? 0o755 : 0o644)
    }
    await rename(draft, copy).catch(() => rm(draft, { recursive: true, force: true }))
  }
  const moved = (path: string) => join(copy, relative(native, path))
  return { postgres: moved(packaged.postgres), initdb: moved(packaged.initdb), pg_ctl: moved(packaged.pg_ctl) }
}

async function shelterCluster(dataDir: string): Promise<string> {
  return join(await openShelter(`tierway-${shortHash(dataDir)}`), 'postgres')
}

async function openShelter(name: string): Promise<string> {
  const shelter = join('/var/tmp', name)
  await mkdir(shelter, { recursive: true })
  const found = await lstat(shelter)
  // Every user can create directories there, so a directory of this name may be a trap.
  if (!found.isDirectory() || found.uid !== 0)
    throw new StartFault(`${shelter} is not root's. Remove it (rm -r ${shelter}), or set DATABASE_URL.`)
  await chmod(shelter, 0o711)
  return shelter
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

/**
 * Makes the cluster next to its place and moves it there as a whole, so that an interrupted start leaves no half
 * cluster.
 */
export async function initialise(
  { cluster, binaries, identity }: Home,
  password: string,
  onProgress: (message: string) => void,
): Promise<boolean> {
  await removeDrafts(cluster)
  if (await exists(join(cluster, 'PG_VERSION'))) {
    await requireOwner(cluster, identity)
    return false
  }
  requireName(identity)
  onProgress(`making a Postgres cluster in ${cluster}`)
  const draft = await mkdtemp(`${cluster}.new.${process.pid}.`)
  drafts.add(draft)
  const passwordFile = join(draft, 'password')
  const data = join(draft, 'data')
  try {
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (identity) for (const path of [draft, passwordFile]) await chown(path, identity.uid, identity.gid)
    const access = ['-U', USER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
    await run(binaries.initdb, ['-D', data, ...access, '-E', 'UTF8', '--locale=C', '--no-sync'], draft, identity)
    await rename(data, cluster)
    return true
  } catch (cause) {
    // Another process may have been first.
    if (await exists(join(cluster, 'PG_VERSION'))) return false
    if (codeOf(cause) === 'ENOTEMPTY' || codeOf(cause) === 'EEXIST')
      throw new StartFault(`${cluster} has files that are not Tierway's. Set TIERWAY_DATA_DIR to another folder.`)
    const fault = await faultOfFiles(cause, dirname(cluster))
    throw fault ?? new StartFault(`no Postgres cluster could be made in ${cluster}: ${messageOf(cause)}`, { cause })
  } finally {
    await rm(draft, { recursive: true, force: true })
    drafts.delete(draft)
  }
}

/** Postgres uses only a cluster of the user that it runs as. */
async function requireOwner(cluster: string, identity: Identity | undefined): Promise<void> {
  const user = identity?.uid ?? process.getuid?.()
  const { uid: owner } = await stat(cluster)
  if (user === undefined || owner === user) return
  const whose = `${cluster} belongs to user ${owner}, and Postgres runs as user ${user}`
  const root = identity ? ' here, since it refuses to run as root' : ''
  throw new StartFault(
    `${whose}${root}. Start Tierway as user ${owner}, or make user ${user} the owner. To do so, type: sudo chown -R ${user} ${cluster}`,
  )
}

/** A new cluster needs the user's name, which a container's user may lack. */
function requireName(identity: Identity | undefined): void {
  const user = identity ? undefined : process.getuid?.()
  if (user === undefined) return
  try {
    userInfo()
  } catch {
    throw new StartFault(
      `user ${user}, which this process runs as, has no entry in /etc/passwd, and Postgres needs one. Run as another user, set DATABASE_URL to a Postgres of yours, or add the entry. To do so, type as root: echo 'tierway:x:${user}:${process.getgid?.()}::/:/sbin/nologin' >> /etc/passwd`,
    )
  }
}

/** The drafts of this process. A process of a restarted container may find its own id on a draft of its predecessor. */
const drafts = new Set<string>()

/** Removes the drafts of interrupted starts. */
async function removeDrafts(cluster: string): Promise<void> {
  const prefix = `${basename(cluster)}.new.`
  for (const name of await readdir(dirname(cluster))) {
    if (!name.startsWith(prefix)) continue
    const draft = join(dirname(cluster), name)
    const pid = Number.parseInt(name.slice(prefix.length), 10)
    const inUse = pid === process.pid ? drafts.has(draft) : isAlive(pid)
    if (!inUse) await rm(draft, { recursive: true, force: true })
  }
}
