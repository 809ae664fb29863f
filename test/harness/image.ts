import { execFile, spawn, spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findProgram, without } from './needs.ts'
import { type Service, watchService } from './service.ts'

// Images of the Dockerfile, and their containers: by Docker, or by buildah and chroot where Docker is missing.

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LARGE = { maxBuffer: 2 ** 26 }

/** Its containers can write to `/tmp` and to volumes alone. */
export interface Image {
  /** What a command prints. */
  run(command: readonly string[], env?: Variables): Promise<string>
  /** The service of the image's own command. */
  serve(env: Variables): Service
}

export interface Images {
  /** The image of a stage of the Dockerfile, run by the image's own user or by another one. */
  build(stage: { readonly target: string; readonly user?: string }): Promise<Image>
  remove(): Promise<void>
}

type Variables = Readonly<Record<string, string>>

/** The program may be installed without its daemon. */
const hasDocker = spawnSync('docker', ['info'], { stdio: 'ignore' }).status === 0
/** Why no image can be built here, as the beginning of a title. */
export const withoutImages = hasDocker
  ? ''
  : process.getuid?.() === 0
    ? without('buildah', 'unshare', 'chroot', 'dpkg')
    : 'SKIPPED, Docker does not run, and only root can use buildah: '

export const openImages = (): Promise<Images> => (hasDocker ? openDocker() : openBuildah())

/** What both ways have in common: `start` gives the arguments of a program that runs a command in a container. */
function image(
  start: (command: readonly string[], env: Variables) => readonly string[],
  own: readonly string[],
): Image {
  return {
    async run(command, env = {}) {
      const [program = '', ...args] = start(command, env)
      return (await run(program, args, LARGE)).stdout
    },
    serve(env) {
      const [program = '', ...args] = start(own, env)
      return watchService(spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }))
    },
  }
}

async function openDocker(): Promise<Images> {
  const built: string[] = []
  return {
    async build({ target, user }) {
      const { stdout } = await run('docker', ['build', '-q', '--target', target, ROOT], LARGE)
      const id = stdout.trim()
      built.push(id)
      const options = ['--rm', '--read-only', '--tmpfs', '/tmp', '--network', 'host']
      if (user) options.push('--user', user)
      const start = (command: readonly string[], env: Variables) => [
        ...['docker', 'run', ...options],
        ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
        ...[id, ...command],
      ]
      return image(start, [])
    },
    async remove() {
      for (const id of built) await run('docker', ['rmi', '--force', id])
    },
  }
}

/** Mounts a container's files read-only, but for its volumes, and runs a command in them as a user. */
const ENTER = `
root=$1 user=$2 folder=$3 volumes=$4; shift 4
mount --bind "$root" "$root"
mount -o remount,ro,bind "$root"
mount -t tmpfs tmpfs "$root/tmp"
for volume in $volumes; do mount -t tmpfs -o "uid=$user" tmpfs "$root$volume"; done
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec chroot --userspec="$user:$user" "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
`

async function openBuildah(): Promise<Images> {
  const folder = await mkdtemp(join(tmpdir(), 'tierway-images-'))
  const buildahOn = (driver: string) => {
    const storage = ['--root', join(folder, driver), '--runroot', join(folder, `${driver}-run`)]
    return async (...args: string[]) =>
      (await run('buildah', [...storage, '--storage-driver', driver, ...args], LARGE)).stdout.trim()
  }
  // Where a kernel mounts no overlays, each layer is a copy of all files.
  const overlay = buildahOn('overlay')
  const hasOverlays = await overlay('mount').then(
    () => true,
    () => false,
  )
  const buildah = hasOverlays ? overlay : buildahOn('vfs')
  const base = await buildBase(folder, buildah)
  const packages = await volumesOfNpm(folder)
  return {
    async build({ target, user }) {
      const tag = `localhost/tierway-${target}`
      const which = ['--build-arg', `NODE_IMAGE=${base}`, '--target', target, '--tag', tag]
      await buildah('bud', '--isolation', 'chroot', '--network', 'host', '--pull-never', ...packages, ...which, ROOT)
      const { Env, WorkingDir, Cmd, User, Volumes } = JSON.parse(await buildah('inspect', '--type', 'image', tag)).OCIv1
        .config
      const root = await buildah('mount', await buildah('from', tag))
      const start = (command: readonly string[], env: Variables) => {
        const variables = [...Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
        // All of them are one process, the command's, so that signals reach it.
        const enter = ['unshare', '--mount', '/bin/sh', '-ec', ENTER, 'enter']
        const where = [root, user ?? User, WorkingDir, Object.keys(Volumes ?? {}).join(' ')]
        // The variables of the image are set last: its PATH need not find this machine's programs.
        return [...enter, ...where, '/usr/bin/env', '-i', ...variables, ...command]
      }
      return image(start, Cmd)
    },
    async remove() {
      await buildah('rm', '--all')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The packages of Debian that the Dockerfile's commands, npm and Node need. */
const PACKAGES = [
  ...['base-files', 'ca-certificates', 'coreutils', 'dash', 'findutils', 'grep', 'sed'],
  ...['libacl1', 'libattr1', 'libatomic1', 'libc6', 'libgcc-s1', 'libgmp10', 'libpcre2-8-0', 'libselinux1', 'libssl3'],
  'libstdc++6',
]

/** In the place of `node:24-slim`, which only a registry has: Debian as it is installed here, with this Node and its npm. */
async function buildBase(folder: string, buildah: (...args: string[]) => Promise<string>): Promise<string> {
  const root = join(folder, 'base')
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(join(root, 'usr', name), { recursive: true })
    await symlink(join('usr', name), join(root, name))
  }
  // Debian's releases name some of them differently.
  const copy = `for name; do dpkg -L "$name" 2>/dev/null || true; done | sort -u | tar -C / --no-recursion --ignore-failed-read -cf - -T - |
    tar --keep-directory-symlink -xf - -C "$0"`
  await run('/bin/sh', ['-c', copy, root, ...PACKAGES], LARGE)
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n')
  const npm = dirname(dirname(await realpath(findProgram(['npm']) ?? '')))
  await cp(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  await cp(process.execPath, join(root, 'usr/local/bin/node'))
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  const container = await buildah('from', 'scratch')
  await buildah('add', '-q', container, root, '/')
  await buildah('config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', container)
  await buildah('commit', '-q', '--disable-compression', container, 'localhost/tierway-base')
  await rm(root, { recursive: true })
  return 'localhost/tierway-base'
}

/** A build installs packages as this machine does: from its cache, with its settings and authorities. */
async function volumesOfNpm(folder: string): Promise<string[]> {
  const npmrc = join(folder, 'npmrc')
  const own = await readFile(join(homedir(), '.npmrc'), 'utf8').catch(() => '')
  const authorities = process.env.NODE_EXTRA_CA_CERTS
  const lines = [own, 'prefer-offline=true', ...(authorities ? ['cafile=/etc/authorities.pem'] : [])]
  await writeFile(npmrc, `${lines.join('\n')}\n`)
  const { stdout: cache } = await run('npm', ['config', 'get', 'cache'])
  return [
    ...['--volume', `${npmrc}:/root/.npmrc:ro`, '--volume', `${cache.trim()}:/root/.npm`],
    ...(authorities ? ['--volume', `${authorities}:/etc/authorities.pem:ro`] : []),
  ]
}
