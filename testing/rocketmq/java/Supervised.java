/** Runs another main class, and ends the process when its standard input closes: it never outlives who started it. */
public class Supervised {
    public static void main(String[] args) throws Exception {
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    continue;
                }
            } catch (java.io.IOException closed) {
                // the same as its end
            }
            Runtime.getRuntime().halt(0);
        }, "supervisor");
        watcher.setDaemon(true);
        watcher.start();
        String[] rest = java.util.Arrays.copyOfRange(args, 1, args.length);
        Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }
}
